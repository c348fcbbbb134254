/** A request to an object store that failed. */
export class ObjectFault extends Error {
  /** `passing`: the same request may succeed later; `lasting`: it will not until somebody mends the cause */
  readonly kind: 'passing' | 'lasting'

  constructor(message: string, kind: ObjectFault['kind'], options?: ErrorOptions) {
    super(message, options)
    this.name = 'ObjectFault'
    this.kind = kind
  }
}

/** Reports whether the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof ObjectFault && error.kind === 'passing'
}

/** Codes of S3 that pass though their status is below 500. */
const PASSING_CODES: readonly string[] = ['RequestTimeout', 'SlowDown', 'BadDigest', 'IncompleteBody']

/** What an operator is to expect of codes of S3. */
const EXPECTED: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'expected an access key that the store knows',
  SignatureDoesNotMatch: 'expected the secret of this access key, and the region of the store',
  AccessDenied: 'expected rights to read, write, list and delete objects of the bucket',
  RequestTimeTooSkewed: 'expected a clock that differs by less than 15 minutes',
  NoSuchBucket: 'expected a bucket that exists',
}

/** Makes the fault of an answer. @param text body, mostly XML with a code and a message */
export function createAnswerFault(status: number, text: string, bucket: string): ObjectFault {
  const code = /<Code>([^<]{1,100})<\/Code>/.exec(text)?.[1]
  const isKnown = code !== undefined && code in EXPECTED
  const kind = !isKnown && (status >= 500 || status === 429 || isPassingCode(code)) ? 'passing' : 'lasting'
  const told = /<Message>([^<]{1,300})<\/Message>/.exec(text)?.[1]
  const found = [`found status ${status}`, code, told].filter((part) => part !== undefined).join(', ')
  const expected = isKnown ? `, ${EXPECTED[code]}` : ''
  return new ObjectFault(`${found} for the bucket ${bucket}${expected}`, kind)
}

function isPassingCode(code: string | undefined): boolean {
  return code !== undefined && PASSING_CODES.includes(code)
}
