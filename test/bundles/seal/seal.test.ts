import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { CHUNK_BYTES, HEAD_BYTES, LENGTH_BYTES, MAGIC } from '../../../src/bundles/seal/format.js'
import { digestText, findEnvelopes, openEnvelope } from '../../../src/bundles/seal/open.js'
import { sealEnvelope } from '../../../src/bundles/seal/seal.js'
import { type NodeKeys, openNodeKeys } from '../../../src/node-keys/keys.js'
import { memoryState } from '../../support/memory-state.js'
import { mutants } from '../../support/mutants.js'

type Test = Parameters<typeof memoryState>[0] & { testdir(): string }

async function makeKeys(t: Test, digit: string): Promise<NodeKeys> {
  const node = [8, 4, 4, 4, 12].map((length) => digit.repeat(length)).join('-')
  return await openNodeKeys((await memoryState(t)).nodeKeys, node)
}

async function* pieces(text: Uint8Array, bytes = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.byteLength; at += bytes) yield text.subarray(at, at + bytes)
}

async function sealed(text: Uint8Array, from: NodeKeys, to: NodeKeys): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const piece of sealEnvelope(pieces(text), from, to.identity.exchangeKey)) parts.push(piece)
  return Buffer.concat(parts)
}

function fileOf(...envelopes: Buffer[]): Buffer {
  const head = Buffer.alloc(HEAD_BYTES + envelopes.length * LENGTH_BYTES)
  MAGIC.copy(head)
  head.writeUInt32BE(envelopes.length, MAGIC.length)
  for (const [at, { length }] of envelopes.entries())
    head.writeBigUInt64BE(BigInt(length), HEAD_BYTES + at * LENGTH_BYTES)
  return Buffer.concat([head, ...envelopes])
}

/** Returns the texts of the envelopes for a node whose signature is right; throws as `apply` does. */
async function opened(file: string, bytes: Uint8Array, to: NodeKeys, from: NodeKeys): Promise<Buffer[]> {
  writeFileSync(file, bytes)
  const handle = await open(file)
  try {
    const texts: Buffer[] = []
    for (const span of await findEnvelopes(handle)) {
      const envelope = await openEnvelope(handle, span, to)
      if (envelope === undefined) continue
      const digest = await digestText(envelope.text())
      if (!envelope.isSignedBy(from.identity.signingKey, digest)) throw new Error('the signature is wrong')
      const text: Buffer[] = []
      for await (const piece of envelope.text()) text.push(piece)
      texts.push(Buffer.concat(text))
    }
    return texts
  } finally {
    await handle.close()
  }
}

t.test('envelopes: texts of every length around a chunk are read as they were written', async (t) => {
  const [van, base] = [await makeKeys(t, '1'), await makeKeys(t, '2')]
  const file = path.join(t.testdir(), 'x')
  for (const bytes of [
    1,
    100,
    CHUNK_BYTES - 65,
    CHUNK_BYTES - 64,
    CHUNK_BYTES - 63,
    CHUNK_BYTES,
    CHUNK_BYTES + 1,
    3 * CHUNK_BYTES - 64,
  ]) {
    const text = randomBytes(bytes)
    const [found] = await opened(file, fileOf(await sealed(text, van, base)), base, van)
    t.ok(found?.equals(text), `${bytes} bytes`)
  }
})

t.test('envelopes: those for others are passed over; an outsider finds nothing in them', async (t) => {
  const [van, base, other] = [await makeKeys(t, '1'), await makeKeys(t, '2'), await makeKeys(t, '3')]
  const file = path.join(t.testdir(), 'x')
  const text = Buffer.from(`from ${van.identity.nodeId} to ${base.identity.nodeId}`)
  const bytes = fileOf(await sealed(Buffer.from('y'), van, other), await sealed(text, van, base))
  t.same(await opened(file, bytes, base, van), [text])
  t.same(await opened(file, bytes, van, van), [], 'the sender cannot read it either')
  const hidden = [van, base, other].flatMap(({ identity }) => [
    Buffer.from(identity.nodeId),
    ...[identity.signingKey, identity.exchangeKey].map((key) => Buffer.from(key)),
  ])
  t.notOk(hidden.some((secret) => bytes.includes(secret)))
  const again = fileOf(await sealed(text, van, base))
  t.notOk(again.subarray(20).includes(bytes.subarray(-40)), 'the same text looks different each time')
  await t.rejects(opened(file, fileOf(await sealed(text, other, base)), base, van), /signature is wrong/)
})

t.test('envelopes: torn, changed and foreign files are refused', async (t) => {
  const [van, base] = [await makeKeys(t, '1'), await makeKeys(t, '2')]
  const file = path.join(t.testdir(), 'x')
  const text = randomBytes(2 * CHUNK_BYTES + 500)
  const envelope = await sealed(text, van, base)
  const good = fileOf(envelope)
  const refuses = (bytes: Uint8Array, reason: RegExp) => t.rejects(opened(file, bytes, base, van), reason)
  await refuses(Buffer.alloc(0), /found its end after 0 bytes/)
  await refuses(Buffer.from('PK\x03\x04 some other file'), /found other bytes at its beginning/)
  await refuses(good.subarray(0, -1), /it was torn/)
  await refuses(Buffer.concat([good, Buffer.of(0)]), /goes on after its end/)
  await refuses(fileOf(envelope.subarray(0, -500 - 64 - 16)), /the chunk 2 of 2 was changed or torn/)
  await refuses(fileOf(envelope.subarray(0, 48 + 65_552 + 10)), /expected a last chunk that is not empty/)
  await refuses(fileOf(envelope.subarray(0, 48)), /expected a last chunk that is not empty/)
  await refuses(fileOf(envelope.subarray(0, 100)), /holds no text/)
  await refuses(fileOf(envelope.subarray(0, 20)), /it was torn/)
  const none = Buffer.from(good)
  none.writeUInt32BE(0, MAGIC.length)
  await refuses(none, /found 0 envelopes/)
  none.writeUInt32BE(0xffffffff, MAGIC.length)
  await refuses(none, /found 4294967295 envelopes, expected 1 to 1000/)
  const swapped = Buffer.from(envelope)
  envelope.copy(swapped, 48, 48 + 65_552, 48 + 2 * 65_552)
  envelope.copy(swapped, 48 + 65_552, 48, 48 + 65_552)
  await refuses(fileOf(swapped), /the chunk 1 of 3 was changed/)
  const weak = Buffer.from(envelope)
  weak.fill(0, 0, 32)
  await refuses(fileOf(weak), /small order/)
})

t.test('envelopes: mutants are refused, or are for nobody', async (t) => {
  const [van, base] = [await makeKeys(t, '1'), await makeKeys(t, '2')]
  const file = path.join(t.testdir(), 'x')
  const good = fileOf(await sealed(randomBytes(CHUNK_BYTES + 3000), van, base))
  const count = Number(process.env.FIELDGATE_TEST_MUTANTS ?? 500)
  let refused = 0
  for (const { bytes, what } of mutants(good, count, 15)) {
    try {
      const texts = await opened(file, bytes, base, van)
      if (texts.length > 0) t.fail(`taken: ${what}`)
      else refused++
    } catch {
      refused++
    }
  }
  t.equal(refused, count)
})
