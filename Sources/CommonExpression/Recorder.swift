/// Notes what the nodes of a tree gave in one evaluation.
final class Recorder {
    /// What a node gave when it was evaluated last.
    struct Outcome {
        var result: Result<Value, EvaluationError>
        /// How often it was evaluated.
        var evaluations = 1

        init(_ result: Result<Value, EvaluationError>) {
            self.result = result
        }
    }

    var outcomes: [SyntaxTree.ID: Outcome] = [:]

    /// Code that notes its outcome.
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

    /// A step that notes its outcome.
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
