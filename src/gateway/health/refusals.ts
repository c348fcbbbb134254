import { createLineSampler, type LineSampler } from '../../http/line-sampler.js'
import type { Log } from '../../log.js'

/** Kinds of refusals that are sampled apart, so that one kind cannot hide another. */
type RefusalKind = 'strangers' | 'callers' | 'sign-ins' | 'forbidden' | 'faults'

const WHOSE: Record<RefusalKind, string> = {
  strangers: 'refused requests without sign-in',
  callers: 'refused requests of callers',
  'sign-ins': 'refused sign-ins',
  forbidden: 'calls without the scope',
  faults: 'calls that failed',
}

/** Acts of the audit log. */
const ACTS: Partial<Record<RefusalKind, string>> = { 'sign-ins': 'sign-in-refused', forbidden: 'forbidden' }

/** Makes the sampler of the log's lines about refusals, which reports how many it left out. */
export function createRefusalSampler(log: Log, perMinute: number): LineSampler<RefusalKind> {
  return createLineSampler<RefusalKind>({
    perMinute,
    onLeftOut(kind, leftOut) {
      const act = ACTS[kind]
      const line = act === undefined ? { leftOut } : { audit: true, act, leftOut }
      log.warn(line, `${leftOut} more ${WHOSE[kind]} in the last minute (log.refusalsPerMinute)`)
    },
  })
}
