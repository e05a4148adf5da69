/// Records the outcomes of the nodes of a tree in one evaluation.
final class Recorder {
    /// The last outcome of a node.
    struct Outcome {
        var result: Result<Value, EvaluationError>
        /// The number of evaluations.
        var evaluations = 1

        init(_ result: Result<Value, EvaluationError>) {
            self.result = result
        }
    }

    var outcomes: [SyntaxTree.ID: Outcome] = [:]

    /// Returns code that records its outcome.
    static func recording(_ id: SyntaxTree.ID, _ code: @escaping ValueCode) -> ValueCode {
        { frame throws(EvaluationError) in
            do throws(EvaluationError) {
                let value = try code(&frame)
                frame.recorder?.note(id, .success(value))
                return value
            } catch {
                frame.recorder?.note(id, .failure(error))
                throw error
            }
        }
    }

    /// Returns a step that records its outcome.
    static func recording(_ id: SyntaxTree.ID, _ step: @escaping Step) -> Step {
        { operand, frame throws(EvaluationError) in
            do throws(EvaluationError) {
                let value = try step(operand, &frame)
                frame.recorder?.note(id, .success(value))
                return value
            } catch {
                frame.recorder?.note(id, .failure(error))
                throw error
            }
        }
    }

    private func note(_ id: SyntaxTree.ID, _ result: Result<Value, EvaluationError>) {
        guard var outcome = outcomes[id] else {
            outcomes[id] = Outcome(result)
            return
        }
        outcome.result = result
        outcome.evaluations += 1
        outcomes[id] = outcome
    }
}
