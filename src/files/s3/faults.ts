import { AppError, isAppError, messageOf } from '../../errors.js'

/** Time after which a caller should try again, s. */
const RETRY_AFTER_S = 5

/**
 * Makes the error of a request to an object store.
 *
 * @param kind `passing`: the same request may succeed later; `lasting`: it will not until somebody mends the cause
 */
export function objectFault(message: string, kind: 'passing' | 'lasting', cause?: unknown): AppError {
  const data = kind === 'passing' ? { retryAfterS: RETRY_AFTER_S } : {}
  return new AppError('OBJECTS_UNAVAILABLE', data, {
    message: `The object store of the hub: ${message}`,
    ...(cause === undefined ? {} : { cause }),
  })
}

/** Makes the error of a connection that failed; one of `objectFault` stays as it is. */
export function connectionFault(error: unknown): AppError {
  if (isAppError(error)) return error
  return objectFault(messageOf(error) || 'the connection failed', 'passing', error)
}

/** Reports whether the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return isAppError(error) && error.errorName === 'OBJECTS_UNAVAILABLE' && 'retryAfterS' in error.data
}

/** Codes of S3 that pass though their status is below 500. */
const PASSING_CODES: readonly string[] = ['RequestTimeout', 'SlowDown', 'BadDigest', 'IncompleteBody']

/** Meaning of codes of S3 for an operator. */
const EXPECTED: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'expected an access key that the store knows',
  SignatureDoesNotMatch: 'expected the secret of this access key, and the region of the store',
  AccessDenied: 'expected rights to read, write, list and delete objects of the bucket',
  RequestTimeTooSkewed: 'expected a clock that differs by less than 15 minutes',
  NoSuchBucket: 'expected a bucket that exists',
}

/** Makes the fault of an answer. @param text body, mostly XML with a code and a message */
export function createAnswerFault(status: number, text: string, bucket: string): AppError {
  const code = /<Code>([^<]{1,100})<\/Code>/.exec(text)?.[1]
  const isKnown = code !== undefined && code in EXPECTED
  const kind = !isKnown && (status >= 500 || status === 429 || isPassingCode(code)) ? 'passing' : 'lasting'
  const told = /<Message>([^<]{1,300})<\/Message>/.exec(text)?.[1]
  const found = [`found status ${status}`, code, told].filter((part) => part !== undefined).join(', ')
  const expected = isKnown ? `, ${EXPECTED[code]}` : ''
  return objectFault(`${found} for the bucket ${bucket}${expected}`, kind)
}

function isPassingCode(code: string | undefined): boolean {
  return code !== undefined && PASSING_CODES.includes(code)
}
