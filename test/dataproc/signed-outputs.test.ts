import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeModule, startModules } from '../support/dataproc.js'
import { modelsOf } from '../support/models.js'
import { signBytes } from '../support/sign.js'
import { newKeyPair } from '../support/signing-keys.js'

t.test(
  'dataproc: a module must sign what a store demands signed, and nothing is kept otherwise',
  async (t) => {
    const key = newKeyPair()
    const signed = { signedStores: ['rain'], trustedKeys: [key.publicPem] }
    const gateway = await startModules(t, {}, { modelStore: signed })
    const bundle = signBytes(Buffer.from('model'), key.privatePem)
    const foreign = signBytes(Buffer.from('model'), newKeyPair().privatePem)
    mkdirSync(gateway.modulesDir, { recursive: true })
    makeModule(gateway.modulesDir, 'm', {
      plain: 'printf model > output/a.model',
      signed: 'printf model > output/a.model; cp "$(dirname "$0")/good.sig" output/a.sig',
      foreign: 'printf model > output/a.model; cp "$(dirname "$0")/foreign.sig" output/a.sig',
      other: 'printf other > output/a.model; cp "$(dirname "$0")/good.sig" output/a.sig',
      large: 'printf model > output/a.model; head -c 300000 /dev/zero > output/a.sig',
    })
    writeFileSync(path.join(gateway.modulesDir, 'm', 'good.sig'), bundle)
    writeFileSync(path.join(gateway.modulesDir, 'm', 'foreign.sig'), foreign)
    const run = async (method: string, store = 'rain') =>
      (await gateway.exec('m', method, { output: { a: { model_store_ddc: store, model_kind: 'k' } } })).body
    t.match((await run('plain')).error, { data: { name: 'SIGNATURE_REFUSED', reason: 'no_signature' } })
    t.match((await run('foreign')).error, { data: { name: 'SIGNATURE_REFUSED', reason: 'unknown_key' } })
    t.match((await run('other')).error, { data: { name: 'SIGNATURE_REFUSED', reason: 'changed_file' } })
    t.match((await run('large')).error, { message: /its \.sig file: found more than 262144 bytes/ })
    t.same(await modelsOf(gateway), [])
    t.equal((await run('signed')).error, undefined)
    t.match(await modelsOf(gateway), [{ signature: 'valid', model_size: 5 }])
    t.equal((await run('foreign', 'snow')).error, undefined, 'another store')
    t.match(await modelsOf(gateway, { model_store_ddc: 'snow' }), [{ signature: 'unknown_key' }])
  },
)
