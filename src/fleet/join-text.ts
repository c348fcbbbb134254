/** Purpose of the signature of a request to join. */
export const JOIN_PURPOSE = 'join 1'

/** A request to join as both sides sign and check it. */
interface SignedJoin {
  readonly tokenKeyId: string
  readonly nodeId: string
  readonly signingKey: string
  readonly exchangeKey: string
  /** hex */
  readonly secretSha256: string
}

/** Returns the bytes that a gateway signs: they show that it holds the keys that it names. */
export function joinBytes(request: SignedJoin): Buffer {
  const { tokenKeyId, nodeId, signingKey, exchangeKey, secretSha256 } = request
  return Buffer.from([tokenKeyId, nodeId, signingKey, exchangeKey, secretSha256].join('\n'), 'utf8')
}

/** Formats a token: the id of its key and the secret. */
export function formatToken(keyId: string, secret: string): string {
  return `${keyId}.${secret}`
}

/** Reads a token. @returns undefined for another text */
export function readToken(text: string): { keyId: string; secret: string } | undefined {
  const found = /^([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\.(fgs_[A-Za-z0-9_-]{51})$/.exec(text.trim())
  const [, keyId, secret] = found ?? []
  return keyId === undefined || secret === undefined ? undefined : { keyId, secret }
}
