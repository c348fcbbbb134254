import t from 'tap'
import { closedToVehicle, LIMIT_ENTRY, packLimits } from '../../../src/routing/graph/limits.js'

const NONE = { heightCm: 0, widthCm: 0, lengthCm: 0, weightKg: 0, axleLoadKg: 0, noHazmat: 0 }

t.test('closedToVehicle: links with a limit below the vehicle, ascending', async (t) => {
  const limits = packLimits([
    [3, { ...NONE, heightCm: 230 }],
    [5, { ...NONE, widthCm: 230 }],
    [8, { ...NONE, lengthCm: 1200, noHazmat: 1 }],
    [9, { ...NONE, weightKg: 7500 }],
    [12, { ...NONE, axleLoadKg: 8000, heightCm: 400 }],
  ])
  t.equal(limits.length, 5 * LIMIT_ENTRY)
  const rows = [
    [{}, []],
    [{ heightM: 2.3 }, []],
    [{ heightM: 2.301 }, [3]],
    [{ heightM: 4.1 }, [3, 12]],
    [{ widthM: 2.3, lengthM: 12, weightT: 7.5, axleLoadT: 8 }, []],
    [{ widthM: 2.4, lengthM: 13, weightT: 7.6, axleLoadT: 8.1 }, [5, 8, 9, 12]],
    [{ isHazmat: true }, [8]],
  ] as const
  for (const [vehicle, expected] of rows)
    t.same(closedToVehicle(limits, vehicle), expected, JSON.stringify(vehicle))
})
