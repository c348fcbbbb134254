import t from 'tap'
import { loadConfig } from '../../../src/config/config.js'
import { createApis } from '../../../src/gateway/apis.js'
import { createHubApis, type HubContext, notOnHub } from '../../../src/gateway/hub/apis.js'
import { REFUSED_ROUTES } from '../../../src/gateway/hub/routes.js'
import type { Method } from '../../../src/rpc/define-method.js'
import { rejectsWith } from '../../support/rejects-with.js'

const loaded = loadConfig(null, {}, {})
if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
const { config } = loaded

/** Paths of APIs of which a hub has every method; of others it has none, except for those named. */
const SERVED: readonly string[] = ['/api/v1/session/jsonrpc', '/api/v2/fleet/jsonrpc']
/** Methods of served paths that a hub refuses all the same. */
const REFUSED: readonly string[] = ['fleet.join_hub', 'fleet.leave_hub']

const methodsOf = (apis: readonly { path: string; methods: ReadonlyMap<string, Method<never>> }[]) =>
  apis.flatMap(({ path, methods }) => [...methods.values()].map((method) => ({ path, method })))

t.test('hub: has every method of a gateway, at its path, with its scope and its shapes', async (t) => {
  const facts = (apis: Parameters<typeof methodsOf>[0]) =>
    methodsOf(apis).map(({ path, method: { name, scope, params } }) => ({ path, name, scope, params }))
  const hub = facts(createHubApis(config) as never)
  for (const [at, expected] of facts(createApis(config) as never).entries()) {
    const found = hub[at]
    t.ok(
      found?.path === expected.path && found.name === expected.name && found.scope === expected.scope,
      expected.name,
    )
    t.equal(found?.params, expected.params)
  }
})

t.test('hub: what it does not have is refused by name with one code', async (t) => {
  const absent = methodsOf(createHubApis(config) as never).filter(
    ({ path, method }) => !SERVED.includes(path) || REFUSED.includes(method.name),
  )
  t.ok(absent.length > 60)
  for (const { method } of absent) {
    const call = () => (method as unknown as Method<HubContext>).call({}, {} as HubContext)
    await rejectsWith(t, call(), 'NOT_ON_HUB')
    await t.rejects(call(), { message: `A hub does not offer ${method.name}; gateways do` })
    t.same(method.errors, ['NOT_ON_HUB'])
  }
})

t.test('hub: a refusal of a path names it', async (t) => {
  for (const { path } of REFUSED_ROUTES)
    t.match(notOnHub(path), { errorName: 'NOT_ON_HUB', data: { what: path } })
})
