import { existsSync } from 'node:fs'
import { type DiskFaultKind, diskFaultKind, messageOf } from '../errors.js'
import { readDamageNote, removeDamageNote, writeDamageNote } from '../files/damage-note.js'
import type { Log } from '../log.js'

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

/** Watches a log for faults of the disk. @param noteFile see `damage-note.ts` */
export function watchDiskFaults(log: Log, noteFile: string): DiskFaults {
  let failures = 0
  let damages = 0
  let onDamage = (): void => undefined
  /** met, but not noted: the disk takes no writes */
  let isUnwritten = false
  const onFault = (kind: DiskFaultKind, error: unknown) => {
    if (kind === 'failing') return void failures++
    damages++
    isRow ||= kind === 'changed'
    try {
      writeDamageNote(noteFile, Date.now() * 1000, messageOf(error))
      isUnwritten = false
    } catch (fault) {
      if (!isUnwritten) log.warn({ err: fault }, 'the note of a damaged page cannot be written')
      isUnwritten = true
    }
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
    log: watched(log, onFault),
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

function watched(log: Log, onFault: (kind: DiskFaultKind, error: unknown) => void): Log {
  const note = (fields: unknown) => {
    const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined
    const kind = diskFaultKind(error)
    if (kind !== undefined) onFault(kind, error)
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
