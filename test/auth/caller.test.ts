import t from 'tap'
import { isAllowed, SCOPE_AREAS, SCOPES } from '../../src/auth/caller.js'
import type { Scope } from '../../src/rpc/define-method.js'

t.test(
  'isAllowed: admin may everything, write includes read, and nothing else includes anything',
  async (t) => {
    const table: [scopes: string[], needed: Scope, isAllowed: boolean][] = [
      [[], 'none', true],
      [[], 'map:read', false],
      [['admin'], 'admin', true],
      [['admin'], 'fl:write', true],
      [['map:read'], 'map:read', true],
      [['map:read'], 'map:write', false],
      [['map:write'], 'map:read', true],
      [['map:write'], 'map:write', true],
      [['map:write'], 'model:read', false],
      [['map'], 'map:read', false],
      [['map:write', 'route:read'], 'route:read', true],
      [['map:write'], 'admin', false],
      [['admin'], 'sync:relay', true],
      [['sync:write'], 'sync:relay', false],
      [['sync:relay'], 'sync:write', false],
      [['admin'], 'fleet:member', true],
      [['fleet:admin'], 'fleet:admin', true],
      [['fleet:admin'], 'fleet:join', false],
      [['fleet:member'], 'fleet:admin', false],
      [[':write'], 'map:write', false],
    ]
    for (const [scopes, needed, expected] of table) {
      t.equal(isAllowed(scopes, needed), expected, `${scopes.join()} → ${needed}`)
    }
  },
)

t.test('SCOPES: admin, sync:relay, fleet:admin, and read and write of each area', async (t) => {
  t.equal(SCOPES.length, 3 + 2 * SCOPE_AREAS.length)
  t.equal(new Set(SCOPES).size, SCOPES.length)
})

t.test('SCOPES: the scopes that operators give to keys', async (t) => {
  for (const scope of ['admin', 'session:read', 'fl:write', 'route:read']) t.ok(SCOPES.includes(scope), scope)
  for (const scope of ['none', 'admin:read', 'map', '']) t.notOk(SCOPES.includes(scope), scope)
})
