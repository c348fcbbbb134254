import t from 'tap'
import { createMasker } from '../../../src/cli/support/secrets.js'

t.test('createMasker: patterns of secrets that are not known', async (t) => {
  const mask = createMasker([])
  const cases: [string, string][] = [
    ['fgs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA12345678', '[secret]'],
    ['Authorization: Bearer abcdefghijkl', 'Authorization: Bearer [secret]'],
    ['https://a:b@c/', 'https://[secret]@c/'],
    ['{"password":"x y"}', '{"password":"[secret]"}'],
    ['-----BEGIN PRIVATE KEY-----\nAAA\n-----END PRIVATE KEY-----', '[secret]'],
    ['an ordinary text', 'an ordinary text'],
  ]
  for (const [text, expected] of cases) t.equal(mask(text), expected)
})
