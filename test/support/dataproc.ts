import { chmodSync, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../src/config/config.js'
import { type RpcAnswer, startGateway, type TestGateway } from './start-gateway.js'

export const DATAPROC = '/api/v1/dataproc/jsonrpc'
export const DATASET = '/api/v2/dataset/jsonrpc'
export const LOADER = '/api/v1/dataloaderapi/jsonrpc'
export const SESSION = '/api/v1/session/jsonrpc'

type TestLike = Parameters<typeof startGateway>[0]

/** A gateway that runs modules, and what its tests do with it. */
export interface ModuleGateway extends TestGateway {
  readonly modulesDir: string
  /** below `dataproc` in the data directory */
  names(dir: string): string[]
  exec(module: string, method: string, more?: object, headers?: Record<string, string>): Promise<RpcAnswer>
  /** headers of a fresh session */
  openSession(): Promise<Record<string, string> & { token: string }>
}

export async function startModules(
  t: TestLike,
  dataproc: Settings = {},
  settings: Settings = {},
): Promise<ModuleGateway> {
  const dir = t.testdir()
  const modulesDir = path.join(dir, 'data', 'modules')
  const gateway = await startGateway(t, {
    settings: { ...settings, dataproc },
    dataDir: path.join(dir, 'data'),
  })
  return {
    ...gateway,
    modulesDir,
    names: (name) => readdirSync(path.join(gateway.dataDir, 'dataproc', name)),
    exec: (module, method, more = {}, headers) =>
      gateway.call(DATAPROC, 'dataproc.exec', { module, method, ...more }, headers),
    async openSession() {
      const { body } = await gateway.call(SESSION, 'session.open_session', {})
      const token = body.result.access_token
      return { token, 'Svc-Session-Token': token }
    },
  }
}

/** Makes a module of shell scripts: method → its text. */
export function makeModule(
  modulesDir: string,
  name: string,
  scripts: Record<string, string>,
  more: Record<string, object> = {},
): void {
  const dir = path.join(modulesDir, name)
  mkdirSync(dir, { recursive: true })
  const entries = Object.entries(scripts).map(([label, text]) => {
    const file = path.join(dir, `${label}.sh`)
    writeFileSync(file, `#!/bin/sh\n${text}\n`)
    chmodSync(file, 0o755)
    return [label, { path: `${label}.sh`, type: 'data_transformation', ...more[label] }]
  })
  writeFileSync(
    path.join(dir, 'definition.json'),
    JSON.stringify({ name, scripts: Object.fromEntries(entries) }),
  )
}

/** Copies one of the example modules in, as docs/dataproc.md says. */
export function installExample(modulesDir: string, name: string): void {
  cpSync(path.resolve('scripts/modules', name), path.join(modulesDir, name), { recursive: true })
}
