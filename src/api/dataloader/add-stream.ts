import { AppError, toAppError } from '../../errors.js'
import type { Loader } from '../../tables/loader.js'
import {
  receiveStream,
  type StreamLimits,
  type StreamOutcome,
  type StreamRequest,
} from '../../tables/receive-stream.js'
import { toCounters } from './counters.js'

/** Result of the stream endpoint: the counters of `add_record`, and the number of the last line. */
type StreamResult = ReturnType<typeof toCounters> & { last_line: number }

/**
 * `POST /api/v1/dataloaderapi/stream/<data_name>`: stores the features of a stream. It has no JSON-RPC form.
 *
 * @throws AppError of the line at fault; `data` has `line`, the counters, and `last_committed_line`, after
 *   which a caller continues
 */
export async function addStream(
  loader: Loader,
  request: StreamRequest,
  limits: StreamLimits,
): Promise<StreamResult> {
  const outcome = await receiveStream(loader, request, limits)
  if (outcome.fault !== undefined) throw withProgress(outcome)
  return { ...toCounters(outcome.counters), last_line: outcome.lastLine }
}

/** Adds the last stored line and the counters to the error that ended the stream. */
function withProgress(outcome: StreamOutcome): AppError {
  const { counters, lastLine } = outcome
  const fault = toAppError(outcome.fault)
  const { message: _, ...counts } = toCounters(counters)
  const stored = lastLine === 0 ? 'nothing is stored' : `lines up to ${lastLine} are stored`
  return new AppError(
    fault.errorName,
    { ...fault.data, last_committed_line: lastLine, ...counts },
    { message: `${fault.message}; ${stored}`, cause: fault.cause },
  )
}
