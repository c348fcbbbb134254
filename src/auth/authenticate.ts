import { AppError } from '../errors.js'
import type { Caller } from './caller.js'
import { digestsEqual, hashSecret } from './secret.js'

/** A key that is neither revoked nor expired. */
interface KnownKey {
  keyId: string
  keyName: string
  scopes: readonly string[]
  /** secrets that are valid now, as SHA-256 digests: two while a rotation overlaps */
  secrets: readonly { digest: Uint8Array; expiresAtUs: number | null }[]
}

/** A session that has not ended. */
interface KnownSession {
  sessionId: string
  keyId: string
  expiresAtUs: number
}

/** Stores of keys and sessions. */
export interface AuthStores {
  findKey(keyId: string): Promise<KnownKey | undefined>
  findSession(tokenHash: Uint8Array): Promise<KnownSession | undefined>
  /** records a successful sign-in; called for every request, so it must not wait for a disk */
  noteUse?(caller: Pick<Caller, 'keyId' | 'sessionId'>): void
}

/** Reads a header by its lower-case name. */
type HeaderReader = (name: string) => string | undefined

/**
 * Digest that is compared when the key is unknown, so that a wrong key takes the same time as a wrong secret.
 */
const NO_SECRET = { digest: new Uint8Array(32), expiresAtUs: null }

/**
 * Authenticates a caller. A session token has precedence over APIKey and Secret, and those over HTTP Basic:
 * an unknown or expired token is refused also beside a valid key.
 *
 * @param tokenHeader lower-case name of the session token header
 * @param allowsBasic true where programs need HTTP Basic. Browsers send it by themselves, also for pages of
 *   other sites, so it is not accepted elsewhere
 * @returns the caller
 * @throws AppError UNAUTHENTICATED, the same for every reason why credentials are wrong
 */
export async function authenticate(
  header: HeaderReader,
  tokenHeader: string,
  stores: AuthStores,
  allowsBasic = false,
): Promise<Caller> {
  const token = header(tokenHeader)
  const pair = keyPair(header) ?? (allowsBasic ? basicPair(header) : undefined)
  const caller = token === undefined ? await byKey(pair, stores) : await byToken(token, stores)
  if (caller === undefined) throw unauthenticated(header, tokenHeader, allowsBasic)
  stores.noteUse?.(caller)
  return caller
}

/** Makes the refusal. It depends on the headers that are there, never on what is wrong with their values. */
function unauthenticated(header: HeaderReader, tokenHeader: string, allowsBasic: boolean): AppError {
  const token = tokenHeader.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase())
  const found = foundCredentials(header, { token, hasToken: header(tokenHeader) !== undefined, allowsBasic })
  const basic = allowsBasic
    ? ', or HTTP Basic with the key as user'
    : ' (HTTP Basic is for GET of /ogc, /tiles and /metrics)'
  const expected = `the headers APIKey and Secret of a key, or the header ${token} of a session${basic}`
  return new AppError('UNAUTHENTICATED', {}, { message: `Found ${found}, expected ${expected}` })
}

function foundCredentials(
  header: HeaderReader,
  { token, hasToken, allowsBasic }: { token: string; hasToken: boolean; allowsBasic: boolean },
): string {
  if (hasToken) return `a ${token} that is unknown or has ended`
  if (keyPair(header) !== undefined) return 'an APIKey and a Secret that are wrong, revoked or expired'
  if (header('authorization') !== undefined)
    return allowsBasic ? 'an Authorization that is wrong, revoked or expired' : 'the header Authorization'
  if (header('apikey') !== undefined) return 'the header APIKey without Secret'
  return header('secret') === undefined ? 'no credentials' : 'the header Secret without APIKey'
}

async function byToken(token: string, stores: AuthStores): Promise<Caller | undefined> {
  const session = await stores.findSession(hashSecret(token))
  const key = session === undefined ? undefined : await stores.findKey(session.keyId)
  if (session === undefined || key === undefined) return undefined
  const { keyId, keyName, scopes } = key
  return { keyId, keyName, scopes, sessionId: session.sessionId, endsAtUs: session.expiresAtUs }
}

async function byKey(pair: KeyPair | undefined, stores: AuthStores): Promise<Caller | undefined> {
  if (pair === undefined) return undefined
  const key = await stores.findKey(pair.keyId)
  const given = hashSecret(pair.secret)
  const matches = (key?.secrets ?? [NO_SECRET]).filter(({ digest }) => digestsEqual(digest, given))
  const [secret] = matches
  if (key === undefined || secret === undefined) return undefined
  return {
    keyId: key.keyId,
    keyName: key.keyName,
    scopes: key.scopes,
    sessionId: null,
    endsAtUs: secret.expiresAtUs,
  }
}

/** Returns the key id that a request names, right or wrong; undefined when it names none. */
export function keyIdOf(header: HeaderReader): string | undefined {
  return header('apikey') ?? basicPair(header)?.keyId
}

interface KeyPair {
  keyId: string
  secret: string
}

function keyPair(header: HeaderReader): KeyPair | undefined {
  const keyId = header('apikey')
  const secret = header('secret')
  return keyId !== undefined && secret !== undefined ? { keyId, secret } : undefined
}

/** Reads key id and secret from HTTP Basic. */
function basicPair(header: HeaderReader): KeyPair | undefined {
  const basic = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(header('authorization') ?? '')?.[1]
  if (basic === undefined) return undefined
  const [user, ...rest] = Buffer.from(basic, 'base64').toString('utf8').split(':')
  return user === undefined || rest.length === 0 ? undefined : { keyId: user, secret: rest.join(':') }
}
