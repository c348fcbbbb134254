import { createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import { formatSecret, JOIN_PURPOSE, joinBytes, openNodeKeys, readToken } from './sources.mjs'

/*
 * Names and keys of a simulated gateway follow from the seed and its number, so that nothing of them is held: the keys
 * are made again where they are needed.
 */

function bytesOf(seed, index, what) {
  return createHash('sha256').update(`fieldgate fleet ${seed} ${index} ${what}`).digest()
}

/** UUID of a gateway's node, table or feed, or of one of its models. */
export function uuidOf(seed, index, what) {
  const hex = bytesOf(seed, index, what).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Secret of the key of a gateway at the hub. */
function secretOf(seed, index) {
  return formatSecret(bytesOf(seed, index, 'secret'))
}

/** Headers of the key of a gateway. */
export function headersOf({ seed }, { index, apiKey }) {
  return { apikey: apiKey, secret: secretOf(seed, index) }
}

export function nameOf(index) {
  return `sim-${String(index).padStart(5, '0')}`
}

/**
 * Headers and params with which a gateway joins.
 *
 * @throws Error for a text that is no token
 */
export async function joinRequest(seed, index, token) {
  const read = readToken(token)
  if (read === undefined)
    throw new Error('--token: found another text than a token, expected what `fieldgate fleet token` prints')
  const nodeId = uuidOf(seed, index, 'node')
  const pairs = { signing: pairOf('Ed25519', seed, index), exchange: pairOf('X25519', seed, index) }
  const keys = await openNodeKeys({ find: async () => pairs }, nodeId)
  const text = (bytes) => Buffer.from(bytes).toString('base64url')
  const facts = {
    nodeId,
    signingKey: text(pairs.signing.publicKey),
    exchangeKey: text(pairs.exchange.publicKey),
    secretSha256: createHash('sha256').update(secretOf(seed, index), 'utf8').digest('hex'),
  }
  const signature = text(keys.sign(JOIN_PURPOSE, joinBytes({ ...facts, tokenKeyId: read.keyId })))
  const params = {
    ...{ node: nodeId, name: nameOf(index), signing_key: facts.signingKey, exchange_key: facts.exchangeKey },
    ...{ secret_sha256: facts.secretSha256, signature },
  }
  return { credentials: { apikey: read.keyId, secret: read.secret }, params }
}

/** Begin of PKCS #8 of a key of 32 bytes; RFC 8410. */
const PKCS8 = { Ed25519: '302e020100300506032b657004220420', X25519: '302e020100300506032b656e04220420' }

function pairOf(curve, seed, index) {
  const privateKey = bytesOf(seed, index, curve)
  const der = Buffer.concat([Buffer.from(PKCS8[curve], 'hex'), privateKey])
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  return { privateKey, publicKey: Buffer.from(String(key.export({ format: 'jwk' }).x), 'base64url') }
}
