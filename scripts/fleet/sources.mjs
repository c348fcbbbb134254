// Parts of the product that simulated gateways share with real ones: so the wire is the true one.
import '../test/load-typescript.mjs'

export const { formatSecret } = await import('../../src/auth/secret.ts')
export const { definitionDigest } = await import('../../src/feeds/batch/definition.ts')
export const { encodeBatch } = await import('../../src/feeds/batch/encode.ts')
export const { SENT_ROWS } = await import('../../src/feeds/batch/format.ts')
export const { PUTTING_OFF } = await import('../../src/feeds/send/lane.ts')
export const { JOIN_PURPOSE, joinBytes, readToken } = await import('../../src/fleet/join-text.ts')
export const { encodeWkb } = await import('../../src/geo/wkb.ts')
export const { openNodeKeys } = await import('../../src/node-keys/keys.ts')
export const { addDigest, createRowDigest, noRows, sumHex } = await import(
  '../../src/storage/exchange/row-digest.ts'
)
export const { RESERVED_COLUMNS } = await import('../../src/storage/tables.ts')
export const { retryAfterS, retryMs } = await import('../../src/sync/backoff.ts')
