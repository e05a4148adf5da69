/// Jobs: start, stop, restart and reload of a unit.
extension ServiceManagerSession {
    func perform(
        _ id: Int, _ action: UnitAction, _ unit: String,
        _ answer: @escaping @Sendable (Result<JobResult, ServiceManagerError>) -> Void
    ) {
        jobs[id] = Job(unit: unit, answer: answer)
        callManager(action.method, [.text(unit), .text("replace")]) { [unowned self] message, error in
            guard jobs[id] != nil else { return }
            guard let path = message?.text("o") else {
                jobs[id] = nil
                answer(.failure(error ?? ServiceManagerError(.refused, "the service manager created no job")))
                return
            }
            jobs[id]?.path = path
            if let result = unclaimedResults[path] { finish(id, result) }
        }
    }

    func takeJob(_ message: BusMessage) {
        guard message.number() != nil, let path = message.text("o"), message.text() != nil,
            let result = message.text()
        else { return }
        let mine = jobs.filter { $0.value.path == path }.keys
        for id in mine { finish(id, result) }
        // The result may belong to a job whose answer has not arrived yet.
        if !jobs.contains(where: { $0.value.path == nil }) {
            unclaimedResults = [:]
        } else if unclaimedResults.count < Self.jobLimit {
            unclaimedResults[path] = result
        }
    }

    /// Completes a job with the current state of its unit.
    private func finish(_ id: Int, _ result: String) {
        guard let job = jobs[id] else { return }
        jobs[id]?.path = ""
        callManager("ListUnitsByNames", [.texts([job.unit])]) { [unowned self] message, _ in
            jobs[id] = nil
            let active = message?.units(limit: 1).first?.state.active ?? ""
            job.answer(.success(JobResult(result: result, active: active)))
        }
    }
}
