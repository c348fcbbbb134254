import { type DiskFaultKind, diskFaultKind } from '../errors.js'
import type { Log } from '../log.js'

/** Faults of the disk that any part of the gateway, on any thread, has met since its start. */
export interface DiskFaults {
  /** log of the gateway; every fault is logged, so here all of them are seen */
  readonly log: Log
  /** Number of faults of a kind so far. */
  count(kind: DiskFaultKind): number
}

/** Watches a log for faults of the disk. */
export function watchDiskFaults(log: Log): DiskFaults {
  const counts: Record<DiskFaultKind, number> = { damaged: 0, failing: 0 }
  return { log: watched(log, (kind) => counts[kind]++), count: (kind) => counts[kind] }
}

function watched(log: Log, onFault: (kind: DiskFaultKind) => void): Log {
  const note = (fields: unknown) => {
    const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined
    const kind = diskFaultKind(error)
    if (kind !== undefined) onFault(kind)
  }
  // the methods of the log have many signatures; the arguments are passed on as they are
  const passing = (level: 'warn' | 'error') =>
    ((...args: Parameters<Log['warn']>) => {
      note(args[0])
      log[level](...args)
    }) as Log['warn']
  return {
    debug: log.debug.bind(log),
    info: log.info.bind(log),
    warn: passing('warn'),
    error: passing('error'),
    child: (fields) => watched(log.child(fields), onFault),
  }
}
