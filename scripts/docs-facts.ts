import { listVerbs } from '../src/cli/main.js'
import { configJsonSchema, describeSettings, loadConfig } from '../src/config/config.js'
import { ERRORS } from '../src/errors.js'
import { createApis, describeApis } from '../src/gateway/apis.js'
import { describeHttp } from '../src/gateway/openapi.js'
import { createLog } from '../src/log.js'

/** Facts of the program for generated documents: methods, errors, settings and verbs. */
export async function facts() {
  const loaded = loadConfig(null)
  if ('faults' in loaded) throw new Error('the defaults have faults')
  const silent = { write: () => true }
  const io = { stdout: silent, stderr: silent, setExitCode: () => undefined }
  const deps = {
    env: {},
    cwd: '.',
    entryFile: '',
    version: '0',
    createLog: () => createLog('silent'),
    makeFilesPrivate: () => undefined,
    keepHeapSmall: () => undefined,
    onSignal: () => () => undefined,
  }
  const errors = Object.entries(ERRORS).map(([name, { code, status, message }]) => ({
    name,
    code,
    status,
    message,
  }))
  const apis = createApis(loaded.config)
  return {
    openRpc: await describeApis(apis, '0'),
    openApi: await describeHttp(loaded.config, apis, '0'),
    apis: apis.map(({ title, path }) => ({ title, path })),
    errors: errors.sort((a, b) => a.code - b.code),
    settings: describeSettings(),
    configSchema: configJsonSchema(),
    verbs: await listVerbs(io, deps),
  }
}
