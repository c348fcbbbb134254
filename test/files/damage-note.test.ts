import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readDamageNote, removeDamageNote, writeDamageNote } from '../../src/files/damage-note.js'

t.test('damage note: the first fault stays until it is removed', async (t) => {
  const file = path.join(t.testdir(), 'damage.json')
  t.equal(readDamageNote(file), undefined)
  writeDamageNote(file, 7, 'first')
  writeDamageNote(file, 8, 'second')
  t.same(readDamageNote(file), { atUs: 7, fault: 'first' })
  t.equal(statSync(file).mode & 0o777, 0o600)
  removeDamageNote(file)
  removeDamageNote(file)
  t.equal(readDamageNote(file), undefined)
})

t.test('damage note: one that is cut off is a note all the same', async (t) => {
  const file = path.join(t.testdir(), 'damage.json')
  writeDamageNote(file, 7, 'first')
  writeFileSync(file, readFileSync(file).subarray(0, 5))
  t.same(readDamageNote(file), { atUs: undefined, fault: 'the note cannot be read' })
})

t.test('damage note: a directory that takes no writes is an error', async (t) => {
  t.throws(() => writeDamageNote(path.join(t.testdir(), 'none/damage.json'), 7, 'x'), { code: 'ENOENT' })
})
