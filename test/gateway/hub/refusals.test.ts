import t from 'tap'
import { DATASET_WRITES } from '../../../src/api/dataset/index.js'
import { OUTBOX_METHODS } from '../../../src/api/fl/index.js'
import { OWN_MEMBERSHIP } from '../../../src/api/fleet/index.js'
import { SENDER_METHODS } from '../../../src/api/sync/index.js'
import { loadConfig } from '../../../src/config/config.js'
import {
  API_PATHS,
  createApis,
  LOADER_PATH,
  MODEL_STORE_PATH,
  mapApiPath,
} from '../../../src/gateway/apis.js'
import { createHubApis, type HubContext, notOnHub } from '../../../src/gateway/hub/apis.js'
import { REFUSED_ROUTES } from '../../../src/gateway/hub/routes.js'
import type { Method } from '../../../src/rpc/define-method.js'
import type { Api } from '../../../src/rpc/dispatch.js'
import { rejectsWith } from '../../support/rejects-with.js'

const loaded = loadConfig(null, {}, {})
if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
const { config } = loaded

/** Paths of which a hub has methods; of others it has none. */
const SERVED: readonly string[] = [
  ...[API_PATHS.session, API_PATHS.fleet, API_PATHS.fl, API_PATHS.sync, API_PATHS.getFile],
  ...[API_PATHS.dataset, MODEL_STORE_PATH, LOADER_PATH, mapApiPath(config)],
]
/** Methods of served paths that a hub refuses all the same. */
const REFUSED = [...[...OWN_MEMBERSHIP, ...OUTBOX_METHODS, ...SENDER_METHODS], ...DATASET_WRITES].map(
  ({ name }) => name,
)

const methodsOf = async (apis: readonly Api<never>[]) => {
  const found = apis.map(async ({ path, methods }) =>
    [...(await methods()).values()].map((method) => ({ path, method })),
  )
  return (await Promise.all(found)).flat()
}

t.test('hub: has every method of a gateway, at its path, with its scope and its shapes', async (t) => {
  const facts = async (apis: readonly Api<never>[]) =>
    (await methodsOf(apis)).map(({ path, method: { name, scope, params } }) => ({
      path,
      name,
      scope,
      params,
    }))
  const hub = new Map((await facts(createHubApis(config) as never)).map((fact) => [fact.name, fact]))
  const gateway = await facts(createApis(config) as never)
  t.equal(hub.size, gateway.length)
  for (const { path, name, scope, params } of gateway) {
    const found = hub.get(name)
    t.ok(found?.path === path && found.scope === scope && found.params === params, name)
  }
})

t.test('hub: what it does not have is refused by name with one code', async (t) => {
  const absent = (await methodsOf(createHubApis(config) as never)).filter(
    ({ path, method }) => !SERVED.includes(path) || REFUSED.includes(method.name),
  )
  t.ok(absent.length > 35)
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
