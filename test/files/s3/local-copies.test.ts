import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createLocalCopies } from '../../../src/files/s3/local-copies.js'

const digest = (digit: string) => digit.repeat(64)

t.test('local copies: the least used go, but none whose path was given lately', async (t) => {
  const dir = path.join(t.testdir(), 'copies')
  let nowMs = 1_800_000_000_000
  const copies = createLocalCopies(dir, 250, () => nowMs)
  const put = (sha256: string) =>
    copies.path(sha256, async (file) => {
      writeFileSync(file, Buffer.alloc(100))
      return true
    })
  for (const digit of ['a', 'b', 'c', 'd']) await put(digest(digit))
  t.equal(readdirSync(dir).length, 4, 'more than asked for, as all are in use')
  nowMs += 700_000
  await copies.path(digest('a'), () => Promise.reject(new Error('it is there')))
  nowMs += 700_000
  await put(digest('e'))
  t.same(readdirSync(dir).sort(), [digest('a'), digest('e')])
  await copies.remove(digest('a'))
  await copies.remove(digest('a'))
  t.notOk(existsSync(path.join(dir, digest('a'))))
})

t.test('local copies: a fetch that fails leaves no copy; files of others stay', async (t) => {
  const dir = path.join(t.testdir(), 'copies')
  const copies = createLocalCopies(dir, 0)
  await t.rejects(
    copies.path(digest('a'), async (file) => {
      writeFileSync(file, 'half')
      throw new Error('the line went dead')
    }),
    /the line went dead/,
  )
  t.equal(await copies.path(digest('a'), async () => false), undefined)
  writeFileSync(path.join(dir, 'note'), 'x')
  utimesSync(path.join(dir, 'note'), 1, 1)
  await copies.path(digest('b'), async (file) => {
    writeFileSync(file, 'whole')
    return true
  })
  t.ok(existsSync(path.join(dir, 'note')))
  await t.rejects(
    createLocalCopies('/dev/null', 1).path(digest('a'), async () => true),
    /ENOTDIR|EEXIST/,
  )
})
