import t from 'tap'
import { decryptValue } from '../../../src/storage/formats/decrypt-value.js'
import { createKeyring } from '../../../src/storage/keyring.js'

t.test('decryptValue: the value of one column alone, and nothing that is not encrypted', async (t) => {
  const keyring = createKeyring(new Uint8Array(32))
  const stored = keyring.encrypt('text', 'events/secret')
  t.equal(decryptValue('events', 'secret', stored, keyring), 'text')
  t.equal(decryptValue('events', 'other', stored, keyring), null, 'bound to its column')
  t.throws(() => decryptValue('events', 'secret', 'text', keyring), {
    message: 'secret holds a value that is not encrypted',
  })
})
