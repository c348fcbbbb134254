import { createHash, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { AppError } from '../../../src/errors.js'
import { type AgentDeps, startFleetAgent } from '../../../src/fleet/member/agent.js'
import type { HubLink, SentProfile } from '../../../src/fleet/member/hub-link.js'
import { joinHub } from '../../../src/fleet/member/join-hub.js'
import { digestOf } from '../../../src/fleet/profile/digest.js'
import { Profile } from '../../../src/fleet/profile/schema.js'
import { openNodeKeys } from '../../../src/node-keys/keys.js'
import { unreachable } from '../../../src/sync/faults.js'
import { type MemoryState, memoryState } from '../../support/memory-state.js'

const HUB_ID = randomUUID()
const HUB = { node: HUB_ID, signing_key: 'A'.repeat(43), exchange_key: 'A'.repeat(43) }
const KEY = { api_key: 'key', hub: HUB, profile: sent(1) }
const TOKEN = `${randomUUID()}.fgs_${'a'.repeat(51)}`
const { signal } = new AbortController()

function sent(version: number, profile: object = {}): SentProfile {
  const body = Profile.parse(profile)
  return { name: 'field', version, digest: digestOf(body), body }
}

/** A hub that answers what it is told to. */
function fakeHub() {
  const asked: { method: string; params: Record<string, never> }[] = []
  let answer: (method: string, params: object) => unknown = () => KEY
  const call = async (method: string, params: object) => {
    asked.push({ method, params: params as Record<string, never> })
    return answer(method, params)
  }
  // the answers have the form of the hub's
  const link = {
    join: (params: object) => call('join', params),
    report: (params: object) => call('report', params),
    leave: () => call('leave', {}),
    close: async () => undefined,
  } as HubLink
  return {
    ...{ asked, link },
    answers(by: typeof answer) {
      answer = by
    },
  }
}

async function joinDeps(state: MemoryState, link: HubLink) {
  let secrets = 0
  return {
    membership: state.membership,
    keys: await openNodeKeys(state.nodeKeys, randomUUID()),
    peers: state.nodePeers,
    newSecret: () => `secret ${++secrets}`,
    connect: () => link,
  }
}

const request = { hubUrl: 'https://hub', token: TOKEN, name: 'van' }

t.test('joinHub: an answer that is lost is asked for again with the same secret', async (t) => {
  const state = await memoryState(t)
  const hub = fakeHub()
  const deps = await joinDeps(state, hub.link)
  hub.answers(() => {
    throw unreachable(new Error('cut'))
  })
  await t.rejects(joinHub(deps, request, signal), /cannot be reached: cut/)
  t.match(await state.membership.find(), { state: 'joining', reason: /cut/, apiKey: null })
  t.same(await state.feedUpstreams.list(), [])
  hub.answers(() => KEY)
  t.match(await joinHub(deps, request, signal), { state: 'member', apiKey: 'key', reason: null })
  const [first, second] = hub.asked
  t.same(first, second, 'the same request, signature and all')
  const { secret } = (await state.membership.find()) ?? {}
  t.equal(String(first?.params.secret_sha256), createHash('sha256').update(String(secret)).digest('hex'))
  t.match(await state.feedUpstreams.find('hub'), { endpoint: 'https://hub', apikey: 'key', secret })
  t.match(await state.nodePeers.find('hub'), { nodeId: HUB_ID })
})

/** A member with an agent, which reports when it is woken. */
async function agent(t: Test, more: Partial<AgentDeps> = {}) {
  const state = await memoryState(t)
  const hub = fakeHub()
  const lines: unknown[] = []
  const settings: unknown[] = []
  const given: string[] = []
  const deps: AgentDeps = {
    membership: state.membership,
    async reconcile(_membership, { description }) {
      given.push(description)
      return []
    },
    faults: async () => [],
    connect: () => hub.link,
    files: { prepare: async () => [], keepOnly: async () => undefined },
    dropRelease: async () => undefined,
    readReport: async () => ({}),
    closedReason: async () => null,
    useSettings: (progress) => settings.push(progress?.applied?.version),
    stateChanges: async () => 0,
    reportMs: () => 3_600_000,
    waits: { baseMs: 3_600_000, capMs: 3_600_000 },
    ...{ random: () => 1, nowMs: () => performance.now(), sleep: async () => undefined },
    noteContact: async () => undefined,
    log: { info: () => undefined, warn: (line: unknown) => lines.push(line) } as AgentDeps['log'],
    ...more,
  }
  const start = () => {
    const made = startFleetAgent(deps)
    t.teardown(() => made.stop())
    return made
  }
  const join = async () => joinHub(await joinDeps(state, hub.link), request, signal)
  return { state, hub, lines, settings, given, start, join }
}

t.test('agent: reports, applies what differs, and reports the success', async (t) => {
  const { hub, given, settings, start, join, state } = await agent(t)
  await join()
  hub.answers(() => ({ hub: HUB_ID, profile: sent(2, { description: 'two' }) }))
  await start().wake()
  t.same(given, ['two'])
  const reports = hub.asked.filter(({ method }) => method === 'report')
  t.match(reports.slice(0, 2), [
    { params: { profile: { applied: null, outcome: null } } },
    { params: { profile: { applied: sent(2, { description: 'two' }).digest, outcome: 'applied' } } },
  ])
  t.equal(settings.at(-1), 2)
  t.match(await state.membership.find(), { progress: { applied: { version: 2 } } })
})

t.test('agent: a release is looked at again after a start, and once', async (t) => {
  let looks = 0
  const { hub, start, join } = await agent(t, {
    async reconcile() {
      looks++
      return [{ item: 'release linux-x64', state: 'applied', reason: null }]
    },
  })
  await join()
  hub.answers(() => ({ hub: HUB_ID, profile: sent(2, { description: 'two' }) }))
  const first = start()
  await first.wake()
  await first.wake()
  await first.stop()
  t.equal(looks, 1, 'it was applied')
  const second = start()
  await second.wake()
  await second.wake()
  t.equal(looks, 2)
})

t.test('agent: a gateway that left keeps no downloads and no staged release', async (t) => {
  const acts: string[] = []
  const { start, join, state } = await agent(t, {
    files: {
      prepare: async () => [],
      keepOnly: async (wanted) => void acts.push(`keep ${wanted.length}`),
    },
    dropRelease: async () => void acts.push('drop'),
  })
  await join()
  await state.membership.end()
  await start().wake()
  t.same(acts.slice(0, 2), ['keep 0', 'drop'])
})

t.test('agent: a release is downloaded when the rest of its profile is in force', async (t) => {
  const acts: string[] = []
  const { hub, start, join } = await agent(t, {
    async reconcile() {
      acts.push('reconcile')
      return [{ item: 'release linux-x64', state: 'waiting', reason: null }]
    },
    files: {
      async prepare(_membership, wanted) {
        acts.push(`prepare ${wanted.map(({ path }) => path)}`)
        return []
      },
      keepOnly: async () => undefined,
    },
  })
  await join()
  const release = { version: '2.0.0', digest: 'ab'.repeat(32), signature: 'x' }
  hub.answers(() => ({ hub: HUB_ID, profile: sent(2, { releases: { 'linux-x64': release } }) }))
  await start().wake()
  t.same(acts.slice(0, 3), ['prepare ', 'reconcile', 'prepare releases.linux-x64'])
})

t.test('agent: a profile that was put back is not tried again', async (t) => {
  const { hub, given, start, join } = await agent(t, {
    faults: async () => (given.at(-1) === 'bad' ? ['maps: x'] : []),
  })
  await join()
  const bad = sent(2, { description: 'bad', ready_within_s: 1 })
  hub.answers(() => ({ hub: HUB_ID, profile: bad }))
  const running = start()
  await running.wake()
  t.same(given, ['bad', ''])
  await running.wake()
  t.same(given, ['bad', ''])
  t.match(hub.asked.at(-1), {
    params: { profile: { applied: null, tried: bad.digest, outcome: 'put_back', reason: /maps: x/ } },
  })
})

t.test('agent: a hub that refuses the key is noted, and asked again', async (t) => {
  const { hub, lines, start, join, state } = await agent(t)
  await join()
  hub.answers(() => {
    throw new AppError('UPSTREAM_REFUSED', { status: 401 })
  })
  const running = start()
  await running.wake()
  t.match(await state.membership.find(), { state: 'refused', reason: /revoked, or the hub was restored/ })
  t.equal(lines.length, 1)
  await running.wake()
  t.equal(lines.length, 1, 'logged once')
  hub.answers(() => ({ hub: HUB_ID, profile: { ...sent(1), body: undefined } }))
  await running.wake()
  t.match(await state.membership.find(), { state: 'member', reason: null })
})

t.test('agent: another node at the address of the hub changes nothing', async (t) => {
  const { hub, given, lines, start, join } = await agent(t)
  await join()
  hub.answers(() => ({ hub: 'other', profile: sent(2, { description: 'two' }) }))
  await start().wake()
  t.same(given, [])
  t.match(lines, [{ reason: /the node other answered at https:\/\/hub, expected the hub [0-9a-f]/ }])
})

t.test('agent: nothing is sent while sending is paused', async (t) => {
  const { hub, start, join } = await agent(t, { closedReason: async () => 'paused' })
  await join()
  await start().wake()
  t.notOk(hub.asked.some(({ method }) => method === 'report'))
})

t.test(
  'agent: a profile that was being applied when the process ended is applied at the start',
  async (t) => {
    const { hub, given, start, join, state } = await agent(t)
    const { progress } = await join()
    const profile = { ...sent(2, { description: 'two' }), body: Profile.parse({ description: 'two' }) }
    await state.membership.noteProgress({ ...progress, applying: { profile, attempts: 1 } })
    hub.answers(() => ({ hub: HUB_ID, profile: { ...profile, body: undefined } }))
    await start().wake()
    t.same(given, ['two'])
    t.match(hub.asked.at(-1), { params: { profile: { outcome: 'applied' } } })
  },
)

t.test('agent: joins as the environment asks, until it succeeds, and not after it left', async (t) => {
  let tries = 0
  const { hub, start, join, state } = await agent(t, {
    async autoJoin() {
      if (++tries === 1) throw unreachable(new Error('cut'))
      await join()
    },
  })
  const running = start()
  await running.wake()
  await running.wake()
  t.match(await state.membership.find(), { state: 'member' })
  t.equal(hub.asked.at(-1)?.method, 'report', 'at once')
  hub.answers(() => ({ hub: HUB_ID, profile: sent(1) }))
  const before = tries
  await running.wake()
  await state.membership.end()
  await running.wake()
  t.equal(tries, before)
  t.match(await state.membership.find(), { state: 'left', secret: null })
})
