import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { digestsEqual, formatSecret, hashSecret, isWellFormedSecret } from '../../src/auth/secret.js'

const random32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

t.test('property: a secret has its prefix, 256 bits and a checksum that fits', async () => {
  fc.assert(
    fc.property(random32, (random) => {
      const secret = formatSecret(random)
      const body = Buffer.from(secret.slice(4, 47), 'base64url')
      return (
        secret.startsWith('fgs_') && secret.length === 55 && body.equals(random) && isWellFormedSecret(secret)
      )
    }),
  )
})

t.test('property: a secret with one character changed is not well-formed', async () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  fc.assert(
    fc.property(random32, fc.nat(54), fc.constantFrom(...alphabet), (random, at, character) => {
      const secret = formatSecret(random)
      const changed = secret.slice(0, at) + character + secret.slice(at + 1)
      return changed === secret || !isWellFormedSecret(changed)
    }),
    { numRuns: 1000 },
  )
})

t.test('isWellFormedSecret: a known secret, frozen so that scanners can rely on it', async (t) => {
  const secret = 'fgs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
  t.ok(formatSecret(new Uint8Array(32)).startsWith(secret))
  t.ok(isWellFormedSecret(formatSecret(new Uint8Array(32))))
  for (const odd of [
    '',
    secret,
    ` ${formatSecret(new Uint8Array(32))}`,
    `${formatSecret(new Uint8Array(32))}\n`,
    'x'.repeat(1e6),
  ]) {
    t.notOk(isWellFormedSecret(odd), odd.slice(0, 60))
  }
})

t.test('hashSecret: SHA-256 of the UTF-8 text', async (t) => {
  t.ok(
    hashSecret('é').equals(
      createHash('sha256')
        .update(Buffer.from([0xc3, 0xa9]))
        .digest(),
    ),
  )
})

t.test('digestsEqual: equal or not, and never a throw for another length', async (t) => {
  t.ok(digestsEqual(hashSecret('a'), hashSecret('a')))
  t.notOk(digestsEqual(hashSecret('a'), hashSecret('b')))
  t.notOk(digestsEqual(hashSecret('a'), new Uint8Array(31)))
  t.notOk(digestsEqual(hashSecret('a'), new Uint8Array(0)))
})

t.test('isWellFormedSecret: a right checksum does not make up for a wrong form', async (t) => {
  const checked = (body: string) => `${body}${crc32(body).toString(16).padStart(8, '0')}`
  const random = 'A'.repeat(43)
  t.ok(isWellFormedSecret(checked(`fgs_${random}`)))
  for (const body of [
    `xfgs_${random}`,
    `fgs_${random}A`,
    `fgs_${random.slice(1)}`,
    `fgt_${random}`,
    `FGS_${random}`,
    `fgs_${random.slice(1)}+`,
    `fgs_${random}01234567`,
  ]) {
    t.notOk(isWellFormedSecret(checked(body)), body)
  }
})
