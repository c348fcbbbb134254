import t from 'tap'
import { stateColumn } from '../../../src/storage/columns/state-column.js'
import { canonicalLine } from '../../../src/storage/formats/canonical.js'
import { columns } from '../../support/datasets.js'

const [AT] = columns('at timestamptz')
if (AT === undefined) throw new Error('no column')
const COLUMNS = [stateColumn(AT)]

t.test('canonicalLine: a stored time beyond the years 1 to 9999 is damage, not text', async (t) => {
  t.equal(canonicalLine(COLUMNS, [253_402_300_799_999_999n]), '["9999-12-31T23:59:59.999999Z"]\n')
  t.equal(canonicalLine(COLUMNS, [2n ** 63n - 1n]), '["infinity"]\n')
  t.equal(canonicalLine(COLUMNS, [-(2n ** 63n)]), '["-infinity"]\n')
  for (const us of [253_402_300_800_000_000n, -62_135_596_800_000_001n])
    t.throws(() => canonicalLine(COLUMNS, [us]), {
      message: `found the stored time ${us} µs, which is out of range`,
    })
})
