import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { createSha256 } from '../../../src/console/models/sha256.js'

t.test(
  'createSha256: equals the system’s for every length around the blocks, in pieces of any size',
  async (t) => {
    for (let length = 0; length < 200; length++) {
      const bytes = randomBytes(length)
      const hash = createSha256()
      for (let at = 0; at < length; at += 37) hash.update(bytes.subarray(at, at + 37))
      t.equal(hash.hex(), createHash('sha256').update(bytes).digest('hex'), `${length} bytes`)
    }
  },
)

t.test('createSha256: the vectors of FIPS 180-4', async (t) => {
  const of = (text: string) => {
    const hash = createSha256()
    hash.update(new TextEncoder().encode(text))
    return hash.hex()
  }
  t.equal(of(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  t.equal(of('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
