import type { Stored, ValueEnv, ValueFault } from '../../storage/columns/column-type.js'
import type { StateColumn } from '../../storage/columns/state-column.js'
import { faultOf } from '../batch/lines.js'

/** Times travel in UTC; `now()` is no value of a stored row. */
const ENV: ValueEnv = { timeZoneMin: 0, nowUs: 0n }
const JSON_TYPES = ['json', 'jsonb']

/** Returns why citations with a column do not travel; undefined for one that does. */
export function whyNotCarried({ isEncrypted, isFile, udtName }: StateColumn): string | undefined {
  if (isEncrypted) return 'is encrypted with the key of this gateway'
  return isFile || udtName === 'file' ? 'holds files' : undefined
}

/** Returns the JSON value that carries a stored value: text as it is stored, geometry as the hex of its WKB. */
export function toCarried({ type, udtName }: StateColumn, stored: Stored): unknown {
  if (stored === null || type.kind === 'text') return stored
  if (udtName === 'geometry' && stored instanceof Uint8Array) return Buffer.from(stored).toString('hex')
  return type.print(stored, ENV)
}

/** Returns the stored value of a JSON value that another node sent. @param json anything */
export function fromCarried(column: StateColumn, json: unknown): Stored | ValueFault {
  if (json === null || json === undefined)
    return column.isNullable ? null : { found: 'null', expected: 'a value' }
  if (JSON_TYPES.includes(column.udtName)) return readJson(json)
  return column.type.read(json, column.rules, ENV)
}

/** Limits of the text of a JSON value, which is parsed in one piece. */
const JSON_LIMITS = { depth: 1000, commas: 250_000 }

/** The text of a JSON value is kept, because the checksum is that of the text. */
function readJson(json: unknown): Stored | ValueFault {
  const fault = { found: typeof json === 'string' ? 'other text' : typeof json, expected: 'JSON text' }
  if (typeof json !== 'string') return fault
  const tooMuch = faultOf(json, JSON_LIMITS)
  if (tooMuch !== undefined) return { ...fault, found: tooMuch.replace('found ', '') }
  try {
    JSON.parse(json)
    return json
  } catch {
    return fault
  }
}
