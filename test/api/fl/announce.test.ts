import t from 'tap'
import { dumpDataDir } from '../../support/data-dump.js'
import { FL } from '../../support/models.js'
import { startGateway } from '../../support/start-gateway.js'

t.test(
  'fl.announce: TOO_MANY_UPLOADS changes nothing, at the limit of unfinished uploads of a key',
  async (t) => {
    const gateway = await startGateway(t, { settings: { modelStore: { maxOpenUploads: 1 } } })
    const announce = (digit: string) => ({
      sha256: digit.repeat(64),
      size: 10,
      data: {
        model_store_ddc: 'rain',
        model_kind: 'k',
        model_description: '',
        model_meta: {},
        origin: { node: 'elsewhere', model_id: digit },
      },
    })
    const { body: first } = await gateway.call(FL, 'fl.announce', announce('a'))
    t.match(first.result, { have: false, offset: 0 })
    const before = dumpDataDir(gateway.dataDir)
    const { body } = await gateway.call(FL, 'fl.announce', announce('b'))
    t.match(body.error, { code: 9009, data: { name: 'TOO_MANY_UPLOADS' } })
    t.same(dumpDataDir(gateway.dataDir), before)
    t.same(
      (await gateway.call(FL, 'fl.announce', announce('a'))).body.result,
      first.result,
      'the open upload continues',
    )
  },
)
