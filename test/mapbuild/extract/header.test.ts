import t from 'tap'
import { isoTime } from '../../../src/mapbuild/extract/header.js'

t.test('isoTime: seconds since 1970 as ISO 8601, null before 2004 and after the year 9999', async (t) => {
  t.equal(isoTime(1_600_000_000), '2020-09-13T12:26:40Z')
  t.equal(isoTime(1_072_915_201), '2004-01-01T00:00:01Z')
  for (const epochS of [0, 1_072_915_200, 253_402_300_800, -1, Number.NaN, Number.POSITIVE_INFINITY])
    t.equal(isoTime(epochS), null, String(epochS))
})
