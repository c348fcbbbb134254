import { type Caller, requireScope } from '../auth/caller.js'
import type { ModuleCall } from '../dataproc/call.js'
import type { ModuleEngine } from '../dataproc/engine.js'
import { AppError, isAppError, messageOf } from '../errors.js'
import type { Trigger, TriggerRunFacts } from '../storage/triggers.js'

/** Dependencies of a run. */
export interface AttemptsDeps {
  readonly modules: Pick<ModuleEngine, 'exec'>
  /** Returns the rights of a key; undefined for one that was revoked or has ended. */
  callerOf(keyId: string): Promise<Caller | undefined>
  /** Reads the call of a trigger. */
  readCall(text: string): ModuleCall
  nowUs(): number
  /** @throws when `signal` fires */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Longest wait before a further try, ms. */
const MAX_WAIT_MS = 3_600_000

/**
 * Runs the module of a trigger, again after failures.
 *
 * @param note called with the facts after each try that is followed by another
 * @returns the facts at the end
 * @throws AppError CANCELLED when `signal` fires
 */
export async function runAttempts(
  deps: AttemptsDeps,
  trigger: Trigger,
  signal: AbortSignal,
  note: (facts: TriggerRunFacts) => Promise<void>,
): Promise<TriggerRunFacts> {
  for (let attempts = 1; ; attempts++) {
    const facts = await runOnce(deps, trigger, attempts, signal)
    if (facts.state === 'done' || attempts > trigger.retries) return facts
    await note({ ...facts, state: 'running', endedAtUs: null })
    await deps.sleep(Math.min(MAX_WAIT_MS, trigger.retryWaitS * 1000 * 2 ** (attempts - 1)), signal)
  }
}

async function runOnce(
  deps: AttemptsDeps,
  trigger: Trigger,
  attempts: number,
  signal: AbortSignal,
): Promise<TriggerRunFacts> {
  try {
    const caller = await deps.callerOf(trigger.keyId)
    if (caller === undefined) {
      const message = `the key ${trigger.keyName}, which made the trigger, was revoked or has ended; make the trigger anew`
      throw new AppError('FORBIDDEN', {}, { message })
    }
    requireScope(caller, 'dataproc:write')
    const { runId, lastLines } = await deps.modules.exec(
      deps.readCall(trigger.call),
      runCallerOf(caller, signal),
    )
    const end = { state: 'done' as const, endedAtUs: deps.nowUs(), attempts, runId, exitCode: 0 }
    return { ...end, error: null, message: null, lastLines: lastLines === '' ? null : lastLines }
  } catch (error) {
    if (signal.aborted) throw error
    return failed(error, attempts, deps.nowUs())
  }
}

/** Returns the rights of a run: those of the key, without a session. */
export function runCallerOf(caller: Pick<Caller, 'keyName' | 'scopes'>, signal: AbortSignal) {
  return {
    sessionId: null,
    keyName: caller.keyName,
    signal,
    requireScope: (area: 'dataset' | 'loader' | 'model', access: 'read' | 'write') =>
      requireScope(caller, `${area}:${access}`),
  }
}

function failed(error: unknown, attempts: number, endedAtUs: number): TriggerRunFacts {
  const data: Record<string, unknown> = isAppError(error) ? error.data : {}
  return {
    ...{ state: 'failed', endedAtUs, attempts },
    runId: typeof data.run_id === 'string' ? data.run_id : null,
    exitCode: typeof data.exit_code === 'number' ? data.exit_code : null,
    error: isAppError(error) ? error.errorName : 'INTERNAL',
    message: isAppError(error)
      ? messageOf(error)
      : 'the run failed within the gateway; its log has the reason',
    lastLines: typeof data.stderr === 'string' && data.stderr !== '' ? data.stderr : null,
  }
}
