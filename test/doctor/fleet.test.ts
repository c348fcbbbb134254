import path from 'node:path'
import t from 'tap'
import { checkFleet } from '../../src/doctor/fleet.js'
import type { StoredFleet, StoredMembership } from '../../src/storage/maintenance.js'

const NOW_US = 1_795_000_000_000_000
const DAY_US = 24 * 3_600_000_000
const NONE: StoredFleet = {
  membership: null,
  gateways: { member: 0, left: 0, revoked: 0, silent: 0, trouble: 0 },
  tokens: { active: 0, usedUp: 0, expired: 0 },
}
const MEMBER: StoredMembership = {
  ...{ hubUrl: 'https://hub', state: 'member', reason: null, joinedAtUs: NOW_US - 9 * DAY_US },
  ...{ contactUs: NOW_US - 1, wanted: 2, applied: 2, putBack: null, refusedItems: [] },
  ...{ release: null, waitingFiles: [], installedFiles: [] },
}

const check = (fleet: Partial<StoredFleet>) =>
  checkFleet({
    ...{ layout: { root: '/data', mapsDir: '/nowhere', modulesDir: import.meta.dirname }, nowUs: NOW_US },
    config: { dataproc: {} },
    maintenance: { facts: { fleet: async () => ({ ...NONE, ...fleet }) } },
  } as unknown as Parameters<typeof checkFleet>[0]) // the parts of the context that the check reads
const own = (more: Partial<StoredMembership>) => check({ membership: { ...MEMBER, ...more } })

t.test('doctor: what is wrong with a membership is told', async (t) => {
  t.match(await check({}), [{ state: 'ok', message: 'no fleet' }])
  t.match(await own({}), [{ state: 'ok', message: 'a member of https://hub' }])
  t.match(await own({ state: 'refused', reason: 'revoked' }), [
    { state: 'error', message: /refuses.*: revoked/ },
  ])
  t.match(await own({ state: 'joining', reason: 'no route' }), [{ state: 'warning', message: /no route/ }])
  t.match(await own({ state: 'joining' }), [{ message: /has not answered/ }])
  t.match(await own({ contactUs: NOW_US - DAY_US - 1 }), [{ message: /has not answered since 2026/ }])
  t.match(await own({ contactUs: null }), [{ message: /has not answered since 2026/ }], 'since it joined')
  t.match(await own({ putBack: { version: 2, reason: 'no disk' }, applied: 1 }), [
    { message: /^version 2 .* put back: no disk$/ },
  ])
  t.match(await own({ applied: 1 }), [{ message: /^version 2 .* not applied; version 1 is$/ }])
  t.match(await own({ applied: null }), [{ message: /not applied; none is$/ }])
  t.match(await own({ wanted: null, applied: null }), [{ state: 'ok' }], 'the hub has not told yet')
  t.match(await own({ release: { state: 'staged', reason: 'version 2.0.0 waits' } }), [
    { state: 'warning', message: 'a release is staged: version 2.0.0 waits' },
  ])
  t.match(await own({ release: { state: 'rolled_back', reason: 'it crashed' } }), [
    { state: 'warning', message: /does not work here: it crashed/ },
  ])
  t.match(await own({ release: { state: 'waiting', reason: '7 bytes' } }), [{ state: 'ok' }])
  t.match(await own({ refusedItems: ['up seen'] }), [{ message: /not applied for up seen/ }])
  const waitingFiles = [{ item: 'map town', reason: '7 of 9 bytes of the file are here' }]
  const installedFiles = [
    { kind: 'map', name: 'town' },
    { kind: 'map', name: 'coast' },
    { kind: 'module', name: path.basename(import.meta.filename) },
  ] as const
  t.match(await own({ waitingFiles, installedFiles }), [
    {
      state: 'warning',
      message: 'the map town of the profile is not installed: 7 of 9 bytes of the file are here',
    },
    { state: 'warning', message: /^the map coast, which .* is missing: .nowhere.coast\.graph$/ },
  ])
})

t.test('doctor: a hub tells of gateways that are silent and in trouble', async (t) => {
  const gateways = { ...NONE.gateways, member: 9 }
  t.match(await check({ gateways }), [{ state: 'ok', message: /^9 gateways/ }])
  const one = { ...gateways, member: 1 }
  t.match(await check({ gateways: one }), [{ message: '1 gateway is a member of this hub' }])
  t.match(await check({ gateways: { ...gateways, silent: 2, trouble: 3 } }), [
    { state: 'warning', message: / have not reported for a day: 2 of 9$/ },
    { state: 'warning', message: / not ready, .*: 3 of 9$/ },
  ])
  const tokens = { active: 0, usedUp: 1, expired: 2 }
  t.match(await check({ tokens }), [{ state: 'ok', message: /tokens used up: 1, expired: 2$/ }])
  t.match(await check({ gateways, tokens: { ...tokens, active: 1 } }), [{ message: /^9 gateways/ }])
})
