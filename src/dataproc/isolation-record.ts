import { readFileSync, writeFileSync } from 'node:fs'
import type { Isolation } from './isolation.js'

/** Isolation that the gateway found, for `doctor`, which may run with other permissions. */
interface IsolationRecord {
  /** the setting when it was probed */
  readonly mode: string
  readonly kind: Isolation['kind']
  readonly hasOwnProc: boolean
  readonly hasOwnNetwork: boolean
  readonly reason: string | null
}

/** Writes the record. */
export function writeIsolation(file: string, mode: string, isolation: Isolation): void {
  const { kind, hasOwnProc, hasOwnNetwork, reason } = isolation
  const record: IsolationRecord = { mode, kind, hasOwnProc, hasOwnNetwork, reason }
  writeFileSync(file, JSON.stringify(record), { mode: 0o600 })
}

/** Reads the record. @returns undefined when the isolation was never probed, or the file is damaged */
export function readIsolation(file: string): IsolationRecord | undefined {
  try {
    const { mode, kind, hasOwnProc, hasOwnNetwork, reason } = JSON.parse(readFileSync(file, 'utf8'))
    if (kind !== 'namespaces' && kind !== 'none') return undefined
    const own = { hasOwnProc: hasOwnProc === true, hasOwnNetwork: hasOwnNetwork === true }
    return { mode: String(mode), kind, ...own, reason: reason ?? null }
  } catch {
    return undefined
  }
}
