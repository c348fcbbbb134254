import { AppError, isAppError } from '../../errors.js'

/** Why a signature is refused; `docs/models-and-sync.md` describes each. */
export type SignatureReason =
  | 'no_signature'
  | 'too_large'
  | 'bad_json'
  | 'media_type'
  | 'key_material'
  | 'unknown_key'
  | 'payload_type'
  | 'signature_count'
  | 'base64'
  | 'bad_signature'
  | 'bad_statement'
  | 'statement_type'
  | 'predicate_type'
  | 'serialization'
  | 'root_digest'
  | 'changed_file'
  | 'missing_file'
  | 'unlisted_file'

/** Longest part of a found value that a message repeats, in UTF-16 units. */
const SHOWN_CHARS = 100

/** Makes the error of a signature that is refused. @param message found and expected */
export function refusal(reason: SignatureReason, message: string): AppError {
  return new AppError('SIGNATURE_REFUSED', { reason }, { message: `Signature refused: ${message}` })
}

/** Returns the reason of a refused signature; undefined for any other error. */
export function reasonOf(error: unknown): SignatureReason | undefined {
  if (!isAppError(error) || error.errorName !== 'SIGNATURE_REFUSED') return undefined
  return error.data.reason as SignatureReason // only `refusal` makes these errors
}

/** Shows a value of a bundle in a message, shortened and without control characters. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'object' && value !== null ? typeName(value) : JSON.stringify(value)
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text
}

function typeName(value: object): string {
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** Returns a member of a JSON object; undefined for other values and for inherited names. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
