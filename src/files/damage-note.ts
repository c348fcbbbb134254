import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'

/** Note that a database had a damaged page: kept over restarts, until everything was read without a fault. */
export interface DamageNote {
  /** time of the first fault, µs UTC; undefined when the note cannot be read */
  readonly atUs: number | undefined
  /** message of the first fault */
  readonly fault: string
}

/**
 * Writes a note, unless there is one. A file, because the databases may be what is damaged.
 *
 * @throws Error of the system when it cannot be written
 */
export function writeDamageNote(file: string, atUs: number, fault: string): void {
  if (existsSync(file)) return
  const handle = openSync(file, 'w', 0o600)
  try {
    writeSync(handle, `${JSON.stringify({ atUs, fault })}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Reads a note; undefined when there is none. One that is cut off is a note all the same. */
export function readDamageNote(file: string): DamageNote | undefined {
  if (!existsSync(file)) return undefined
  try {
    const { atUs, fault }: { atUs?: unknown; fault?: unknown } = JSON.parse(readFileSync(file, 'utf8'))
    return { atUs: typeof atUs === 'number' ? atUs : undefined, fault: String(fault) }
  } catch {
    return { atUs: undefined, fault: 'the note cannot be read' }
  }
}

/** Withdraws a note. */
export function removeDamageNote(file: string): void {
  rmSync(file, { force: true })
}
