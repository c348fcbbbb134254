import { existsSync } from 'node:fs'
import { type DiskFaultKind, diskFaultKind, messageOf } from '../../errors.js'
import { readDamageNote, removeDamageNote, writeDamageNote } from '../../files/damage-note.js'
import type { Log } from '../../log.js'

/** Faults of the disk that any part of the gateway, on any thread, has met. */
export interface DiskFaults {
  /** log of the gateway; every fault is logged, so here all of them are seen */
  readonly log: Log
  /** Number of failing reads and writes since the start. */
  failures(): number
  /**
   * True from the first damaged page or row on, also after a restart: it is still there when the next reads
   * pass it by. Ends when the note is withdrawn.
   */
  isDamaged(): boolean
  /** True when a row without its digest was met, or the note is of an earlier start. */
  mayBeRow(): boolean
  /** Number of damaged pages and rows that were met since the start. */
  damages(): number
  /** Calls `listener` whenever a damaged page or row is met. */
  onDamage(listener: () => void): void
  /** Withdraws the note of a damaged page. */
  withdraw(): void
}

/** Time in which faults that are alike are one line of the log, ms: a dead disk fails each call. */
const ALIKE_MS = 10_000

/**
 * Watches a log for faults of the disk.
 *
 * @param noteFile see `damage-note.ts`
 * @param nowMs monotonic clock
 */
export function watchDiskFaults(log: Log, noteFile: string, nowMs = () => performance.now()): DiskFaults {
  let failures = 0
  let damages = 0
  let onDamage = (): void => undefined
  /** met, but not noted: the disk takes no writes */
  let isUnwritten = false
  const onFault = (kind: DiskFaultKind, error: unknown) => {
    if (kind === 'failing') return void failures++
    try {
      writeDamageNote(noteFile, Date.now() * 1000, messageOf(error))
      isUnwritten = false
    } catch (fault) {
      // SQLite reports a page that the disk does not give as a damaged one: where no note can be written either,
      // the disk has died, and its pages may be whole
      if (diskFaultKind(fault) === 'failing') return void failures++
      if (!isUnwritten) log.warn({ err: fault }, 'the note of a damaged page cannot be written')
      isUnwritten = true
    }
    damages++
    isRow ||= kind === 'changed'
    onDamage()
  }
  const before = readDamageNote(noteFile)
  let isRow = before !== undefined
  if (before !== undefined)
    log.error(
      { fault: before.fault },
      'a database had damaged pages before this start: run `fieldgate doctor --recheck`',
    )
  return {
    log: watched(log, onFault, createThinning(nowMs)),
    failures: () => failures,
    isDamaged: () => isUnwritten || existsSync(noteFile),
    mayBeRow: () => isRow,
    damages: () => damages,
    onDamage(listener) {
      onDamage = listener
    },
    withdraw() {
      removeDamageNote(noteFile)
      isUnwritten = false
      isRow = false
    },
  }
}

/** Counts lines that say the same. Returns the number of lines left out before this one; undefined to leave it out. */
type Thinning = (line: string) => number | undefined

function createThinning(nowMs: () => number): Thinning {
  const lines = new Map<string, { atMs: number; leftOut: number }>()
  return (line) => {
    const last = lines.get(line)
    if (last !== undefined && nowMs() - last.atMs < ALIKE_MS) return void last.leftOut++
    lines.set(line, { atMs: nowMs(), leftOut: 0 })
    return last?.leftOut ?? 0
  }
}

function watched(log: Log, onFault: (kind: DiskFaultKind, error: unknown) => void, thinning: Thinning): Log {
  // the methods of the log have many signatures; the arguments are passed on as they are
  const passing = (level: 'warn' | 'error') =>
    ((...[fields, ...rest]: Parameters<Log['warn']>) => {
      const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined
      const kind = diskFaultKind(error)
      if (kind === undefined) return log[level](fields, ...rest)
      onFault(kind, error)
      // what failed has another path each time; what is damaged is named by its message
      const leftOut = thinning(`${level} ${rest[0]} ${kind === 'failing' ? kind : messageOf(error)}`)
      if (leftOut === undefined) return
      log[level](leftOut === 0 ? fields : { ...(fields as object), alike: leftOut }, ...rest)
    }) as Log['warn']
  return {
    debug: log.debug.bind(log),
    info: log.info.bind(log),
    warn: passing('warn'),
    error: passing('error'),
    child: (fields) => watched(log.child(fields), onFault, thinning),
  }
}
