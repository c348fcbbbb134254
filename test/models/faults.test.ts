import t from 'tap'
import { unknownModel, unknownStore } from '../../src/models/faults.js'

t.test('faults of models: name what was asked for, at most 100 characters of it', async (t) => {
  t.match(unknownStore('rain "x"'), {
    errorName: 'UNKNOWN_STORE',
    message: 'No model store is named "rain \\"x\\""',
    data: { model_store_ddc: 'rain "x"' },
  })
  t.match(unknownStore('x'.repeat(100)), { data: { model_store_ddc: 'x'.repeat(100) } })
  t.match(unknownStore('x'.repeat(101)), {
    message: `No model store is named "${'x'.repeat(100)}…"`,
    data: { model_store_ddc: `${'x'.repeat(100)}…` },
  })
  t.match(unknownModel('y'.repeat(101)), {
    errorName: 'UNKNOWN_MODEL',
    message: `No model has the id ${'y'.repeat(100)}`,
    data: { model_id: 'y'.repeat(100) },
  })
})
