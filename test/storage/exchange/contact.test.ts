import t from 'tap'
import { contactText, readContact } from '../../../src/storage/exchange/contact.js'

t.test('contact: an answer of a hub is read as it was noted, and none of a former membership', async (t) => {
  const contact = { atUs: 7_000_000, version: 3 }
  t.same(readContact(contactText(contact), { joinedAtUs: 7_000_000 }), contact)
  t.equal(readContact(contactText(contact), { joinedAtUs: 7_000_001 }), null)
  t.equal(readContact(contactText(contact), { joinedAtUs: null }), null)
  t.equal(readContact(undefined, { joinedAtUs: 1 }), null)
})
