import t from 'tap'
import { setProperty } from '../../../src/storage/columns/set-property.js'

t.test('setProperty: a column named __proto__ is a property of the record, not its prototype', async (t) => {
  const record: Record<string, unknown> = {}
  setProperty(record, '__proto__', { isAdmin: true })
  setProperty(record, 'k', 1)
  t.equal(JSON.stringify(record), '{"__proto__":{"isAdmin":true},"k":1}')
  t.equal(Object.getPrototypeOf(record), Object.prototype)
  t.equal(record.isAdmin, undefined)
})
