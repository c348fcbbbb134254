import t, { type Test } from 'tap'
import { type InstallPlace, installFiles } from '../../../src/fleet/member/install-files.js'
import { installedFilesOf } from '../../../src/fleet/profile/files.js'
import { memoryState } from '../../support/memory-state.js'

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)]

/** A gateway whose places hold names with the files that are there. */
async function gateway(t: Test, { refusal = null }: { refusal?: string | null } = {}) {
  const { installedFiles: installed } = await memoryState(t)
  const held = new Set<string>([A, B])
  const acts: string[] = []
  const placeOf = (kind: string): InstallPlace & { there: Map<string, string> } => {
    const there = new Map<string, string>()
    return {
      there,
      refusal: kind === 'module' ? refusal : null,
      stampOf: async (name) => there.get(name),
      async install(name, file) {
        acts.push(`install ${name}`)
        there.set(name, file)
      },
      async remove(name) {
        acts.push(`remove ${name}`)
        there.delete(name)
      },
      use: async () => void acts.push(`use ${kind}s`),
    }
  }
  const places = { map: placeOf('map'), module: placeOf('module') }
  const localFile = async (sha256: string) => (held.has(sha256) ? `file ${sha256}` : undefined)
  const deps = { installed, held: { localFile }, places }
  const apply = async (profile: Parameters<typeof installedFilesOf>[0]) => {
    acts.length = 0
    const items = await installFiles(deps, installedFilesOf(profile))
    return { items: items.map(({ item, state }) => `${item}: ${state}`), acts: [...acts] }
  }
  return { apply, held, places, installed }
}

t.test('installFiles: what is wanted is installed once, replaced, and removed', async (t) => {
  const { apply, installed } = await gateway(t)
  const first = { maps: { town: A }, modules: { rain: B } }
  t.same(await apply(first), {
    items: ['map town: applied', 'module rain: applied'],
    acts: ['install town', 'install rain', 'use maps', 'use modules'],
  })
  t.same((await apply(first)).acts, [], 'a repeat changes nothing')
  t.same((await apply({ maps: { town: B }, modules: { rain: B } })).acts, ['install town', 'use maps'])
  t.same((await apply({})).acts, ['remove town', 'remove rain', 'use maps', 'use modules'])
  t.same(await installed.list(), [])
})

t.test('installFiles: what changed since, and what a crash left, is installed again', async (t) => {
  const { apply, places, installed } = await gateway(t)
  await apply({ maps: { town: A } })
  places.map.there.set('town', 'by another hand')
  t.same((await apply({ maps: { town: A } })).acts, ['install town', 'use maps'])
  await installed.note({ kind: 'map', name: 'town', sha256: A, stamp: '' })
  t.same((await apply({ maps: { town: A } })).acts, ['install town', 'use maps'])
  places.map.there.delete('town')
  t.same((await apply({ maps: { town: A } })).acts, ['install town', 'use maps'])
})

t.test('installFiles: without its file an item waits, and what is there stays', async (t) => {
  const { apply, held, places } = await gateway(t)
  await apply({ maps: { town: A } })
  held.delete(B)
  t.same(await apply({ maps: { town: B } }), { items: ['map town: waiting'], acts: [] })
  t.equal(places.map.there.get('town'), `file ${A}`)
})

t.test('installFiles: what an operator installed is neither replaced nor removed', async (t) => {
  const { apply, places } = await gateway(t)
  places.map.there.set('town', 'of the operator')
  t.same(await apply({ maps: { town: A } }), { items: ['map town: refused'], acts: [] })
  t.same(await apply({}), { items: [], acts: [] })
  t.equal(places.map.there.get('town'), 'of the operator')
})

t.test('installFiles: a gateway that takes no modules refuses them, and takes maps', async (t) => {
  const { apply } = await gateway(t, { refusal: 'no modules here' })
  t.same(await apply({ maps: { town: A }, modules: { rain: B } }), {
    items: ['map town: applied', 'module rain: refused'],
    acts: ['install town', 'use maps'],
  })
})
