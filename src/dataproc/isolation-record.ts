import { readFileSync, writeFileSync } from 'node:fs'
import type { Isolation } from './isolation.js'

/** What the gateway found out about its system, for `doctor`, which may run with other rights than the gateway has. */
export interface IsolationRecord {
  /** the setting that it was found under */
  readonly mode: string
  readonly kind: Isolation['kind']
  readonly hasOwnProc: boolean
  readonly reason: string | null
}

export function writeIsolation(file: string, mode: string, isolation: Isolation): void {
  const { kind, hasOwnProc, reason } = isolation
  const record: IsolationRecord = { mode, kind, hasOwnProc, reason }
  writeFileSync(file, JSON.stringify(record), { mode: 0o600 })
}

/** @returns undefined when nobody found out yet, or the file is damaged */
export function readIsolation(file: string): IsolationRecord | undefined {
  try {
    const { mode, kind, hasOwnProc, reason } = JSON.parse(readFileSync(file, 'utf8'))
    if (kind !== 'namespaces' && kind !== 'none') return undefined
    return { mode: String(mode), kind, hasOwnProc: hasOwnProc === true, reason: reason ?? null }
  } catch {
    return undefined
  }
}
