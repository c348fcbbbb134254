import fc from 'fast-check'
import t from 'tap'
import { diffProfiles } from '../../../src/fleet/profile/diff.js'
import { canonicalText, digestOf } from '../../../src/fleet/profile/digest.js'
import { filesOf, installedFilesOf } from '../../../src/fleet/profile/files.js'
import { Profile } from '../../../src/fleet/profile/schema.js'
import { scopesOf } from '../../../src/fleet/profile/scopes.js'

const RELEASE = { version: '1.2.0', digest: 'ab'.repeat(32), signature: 'text' }

t.test('profile: releases are files of the hub, and no other change than theirs', async (t) => {
  const profile = Profile.parse({ maps: { town: 'cd'.repeat(32) }, releases: { 'linux-arm64': RELEASE } })
  t.same(
    filesOf(profile).map(({ path, sha256 }) => [path, sha256]),
    [
      ['maps.town', 'cd'.repeat(32)],
      ['releases.linux-arm64', RELEASE.digest],
    ],
  )
  t.same(
    installedFilesOf(profile).map(({ path }) => path),
    ['maps.town'],
  )
  t.same(scopesOf(Profile.parse({ releases: { 'linux-x64': RELEASE } })), ['fleet:member'])
  t.same(diffProfiles(Profile.parse({ maps: { town: 'cd'.repeat(32) } }), profile), [
    { item: 'releases linux-arm64', after: RELEASE },
  ])
})

t.test('profile: an empty one gives no more than reporting', async (t) => {
  t.same(scopesOf(Profile.parse({})), ['fleet:member'])
})

t.test('profile: the scopes are those of its parts', async (t) => {
  const profile = Profile.parse({
    up: [{ table: 'a' }],
    down: [{ table: 'b' }],
    model_stores: [{ store: 'm' }],
  })
  t.same(scopesOf(profile), ['fleet:member', 'sync:write', 'sync:read', 'model:write'])
})

t.test('profile: what is named twice, and unknown settings, are refused', async (t) => {
  for (const bad of [
    { up: [{ table: 'a' }, { table: 'a' }] },
    { down: [{ table: 'a' }, { table: 'a', priority: 1 }] },
    { model_stores: [{ store: 'a' }, { store: 'a' }] },
    { settings: { 'server.port': 1 } },
    { settings: { 'sync.windows': ['25:00-01:00'] } },
    { ready_within_s: 0 },
    { releases: { 'linux-mips': RELEASE } },
    { releases: { 'linux-x64': { ...RELEASE, version: 'new' } } },
    { releases: { 'linux-x64': { ...RELEASE, digest: 'AB' } } },
    { releases: { 'linux-x64': { ...RELEASE, signature: 'x'.repeat(4097) } } },
  ])
    t.equal(Profile.safeParse(bad).success, false, JSON.stringify(bad))
  t.equal(Profile.safeParse({ up: [{ table: 'a' }], down: [{ table: 'a' }] }).success, true)
})

t.test('profile: the difference names items, with what they were and are', async (t) => {
  const before = Profile.parse({ up: [{ table: 'a' }, { table: 'b' }], settings: { 'sync.windows': [] } })
  const after = Profile.parse({ up: [{ table: 'b', priority: 1 }, { table: 'c' }], ready_within_s: 9 })
  const changes = diffProfiles(before, after)
  t.same(changes.map(({ item }) => item).sort(), [
    ...['ready_within_s', 'settings sync.windows', 'up a', 'up b', 'up c'],
  ])
  t.match(
    changes.find(({ item }) => item === 'up b'),
    { before: { priority: 5 }, after: { priority: 1 } },
  )
  t.notOk('after' in (changes.find(({ item }) => item === 'up a') ?? {}))
  t.notOk('before' in (changes.find(({ item }) => item === 'up c') ?? {}))
  t.same(diffProfiles(before, before), [])
})

t.test('property: the digest does not depend on the order of members, and survives JSON', async () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (json) => {
      const reversed = Object.fromEntries(Object.entries(json).reverse())
      return (
        digestOf(json) === digestOf(reversed) &&
        canonicalText(JSON.parse(canonicalText(json))) === canonicalText(json)
      )
    }),
    { numRuns: 100 },
  )
})
