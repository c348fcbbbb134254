import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { isAppError } from '../../../src/errors.js'
import { readPrivateKey, readPublicKey } from '../../../src/models/signature/keys.js'
import { signModel, verifyModel } from '../../../src/models/signature/sign-model.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { keptVectors, makeVectors, type Vector } from '../../support/signature-vectors.js'
import { newKeyPair } from '../../support/signing-keys.js'
import { missing } from '../../support/tools.js'

const KEPT = 'test/fixtures/signature-vectors.json'

/** Writes the files of a vector. @returns the path of the model */
function write(dir: string, { files, isFile }: Pick<Vector, 'files' | 'isFile'>): string {
  const root = mkdtempSync(path.join(dir, 'model-'))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), content)
  }
  return isFile ? path.join(root, Object.keys(files)[0] ?? '') : root
}

/** Verifies a vector. @returns `valid` or the reason of the refusal */
async function verdict(dir: string, vector: Vector): Promise<unknown> {
  const key = readPublicKey(vector.publicKey)
  try {
    await verifyModel(write(dir, vector), vector.bundle, key, [])
    return 'valid'
  } catch (error) {
    if (!isAppError(error)) throw error
    return error.data.reason
  }
}

async function check(t: Test, vectors: readonly Vector[]): Promise<void> {
  const dir = t.testdir()
  for (const vector of vectors) t.equal(await verdict(dir, vector), vector.expected, vector.name)
}

if (process.env.UPDATE_GOLDEN === '1') writeFileSync(KEPT, `${JSON.stringify(makeVectors(), null, 2)}\n`)

t.test('verify: kept vectors, each refusal by its own reason', async (t) => {
  const vectors = keptVectors(KEPT)
  t.equal(vectors.length, 35)
  await check(t, vectors)
})

const skip = missing('openssl')
t.test('verify: signatures that openssl makes now', { skip }, async (t) => check(t, makeVectors()))

t.test('sign: a directory and a file are verified with the public key', async (t) => {
  for (const curve of ['P-256', 'P-384', 'P-521']) {
    const { privatePem, publicPem } = newKeyPair(curve)
    const [secret, key] = [readPrivateKey(privatePem), readPublicKey(publicPem)]
    t.equal(secret.hint, key.hint, 'both halves have the hint of the public one')
    const options = { name: 'm', ignored: ['m.sig'] }
    const directory = t.testdir({ 'b.bin': 'b', 'ä.bin': 'ä', sub: { 'c.bin': 'c' }, '.git': { x: 'x' } })
    const bundle = await signModel(directory, secret, options)
    writeFileSync(path.join(directory, 'm.sig'), bundle)
    t.equal(await verifyModel(directory, bundle, key, ['m.sig']), 3)
    t.equal(await verifyModel(directory, bundle, key, []), 3, 'the signature names what it leaves out')
    const file = path.join(directory, 'b.bin')
    t.equal(await verifyModel(file, await signModel(file, secret, options), key, []), 1)
    writeFileSync(path.join(directory, 'sub', 'new'), '')
    await rejectsWith(t, verifyModel(directory, bundle, key, []), 'SIGNATURE_REFUSED', {
      data: { reason: 'unlisted_file' },
    })
  }
})

t.test('sign: refuses links, an empty directory and what does not exist', async (t) => {
  const key = readPrivateKey(newKeyPair('P-256').privatePem)
  const options = { name: 'm', ignored: [] }
  const dir = t.testdir({ empty: { '.git': {} }, linked: { a: 'a' } })
  await t.rejects(signModel(path.join(dir, 'empty'), key, options), /holds no files/)
  symlinkSync('/etc/hostname', path.join(dir, 'linked', 'l'))
  await t.rejects(signModel(path.join(dir, 'linked'), key, options), /linked\/l: found neither a file/)
  await t.rejects(signModel(path.join(dir, 'linked', 'l'), key, options), /links are not followed/)
  await t.rejects(signModel(path.join(dir, 'none'), key, options), /ENOENT/)
})
