import t from 'tap'
import { createDiskLife } from '../../../src/gateway/health/disk-life.js'
import { createKeyring } from '../../../src/storage/keyring.js'
import { openDatabase } from '../../../src/storage/sqlite/connection/database.js'
import { readDiskSamples, reusableBytes } from '../../../src/storage/sqlite/maintenance/disk-facts.js'
import { openState } from '../../../src/storage/sqlite/state.js'

const HOUR_US = 3_600_000_000
const DAY_US = 24 * HOUR_US

t.test(
  'disk life: samples an hour apart are kept for a week, and tell how long the disk lasts',
  async (t) => {
    const state = await openState(':memory:', { keyring: createKeyring(new Uint8Array(32)) })
    t.teardown(() => state.close())
    const at = { us: 1_800_000_000_000_000, free: 500_000_000, isTrusted: true }
    const clock = { ...state.clock, nowUs: () => at.us, isTrusted: () => at.isTrusted }
    const life = createDiskLife({
      state: { diskSamples: state.diskSamples, clock },
      disk: { freeBytes: async () => at.free },
      store: { space: async () => ({ pages: 10, freePages: 100, pageBytes: 1000 }) },
      reserveBytes: 100_000,
    })
    await life.sample()
    await life.sample()
    t.same(await state.diskSamples.list(), [{ atUs: at.us, freeBytes: 500_100_000 }])
    t.equal(await life.forecast(), undefined)
    for (let hour = 0; hour < 24 * 9; hour++) {
      at.us += HOUR_US
      at.free -= 1_000_000
      await life.sample()
    }
    const kept = await state.diskSamples.list()
    t.equal(kept.length, 7 * 24 + 1)
    t.equal(Math.round((await life.forecast())?.daysLeft ?? 0), Math.round(at.free / 24_000_000))
    t.same(readDiskSamples(state.stateDb.db), kept)
    at.us -= 3 * DAY_US
    at.isTrusted = false
    await life.sample()
    t.equal((await state.diskSamples.list()).length, kept.length, 'a clock that may be wrong notes nothing')
    at.isTrusted = true
    await life.sample()
    t.equal((await state.diskSamples.list()).at(-1)?.atUs, at.us, 'samples of the future are forgotten')
    const empty = openDatabase(':memory:', [])
    t.same([readDiskSamples(empty), reusableBytes(empty)], [[], 0])
  },
)
