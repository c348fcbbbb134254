import { existsSync } from 'node:fs'
import os from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { messageOf } from '../../errors.js'
import { type DataLayout, layoutOf, makeDirectories } from '../../files/layout.js'
import type { HubRequest } from '../../fleet/member/join-hub.js'
import { createGateway } from '../../gateway/app.js'
import type { Gateway } from '../../gateway/options.js'
import type { Log, LogLevel } from '../../log.js'
import { lockDirectory } from '../../storage/sqlite/connection/lock.js'
import { refuseLoss } from '../../storage/sqlite/connection/refuse-loss.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { findSettings, type RunSettings, readSettings } from '../settings.js'
import { oneAtATime } from './one-at-a-time.js'
import { type Prepared, prepareDataDir } from './prepare.js'
import { createNotifier, type Notifier } from './sd-notify.js'
import { terminalPage } from './terminal-page.js'

/** Flags of `serve`; they override the environment and the settings file, also at a reload. */
interface ServeOptions extends GlobalOptions {
  host?: string
  port?: number
  demo?: boolean
}

/** Shortest time between two reloads, ms: each reads every setting and the names of the map files again. */
const RELOAD_PAUSE_MS = 250

/** A hub is prepared by `hub init`. */
const PREPARED_BEFORE: Prepared = { nodeId: '', apiKey: null, secret: null }

/** Adds `serve`: runs the gateway until a signal stops it. */
export function addServeCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('serve')
    .description('runs the gateway; the first start also does what init does')
    .option('--host <address>', 'address to listen on')
    .option('--port <port>', 'port to listen on; 0 chooses a free one', parsePort)
    .option('--demo', 'adds a map of a small town with a flood, to try routes')
    .action(async (_options, command: Command) => {
      await serve(command.optsWithGlobals<ServeOptions>(), io, deps)
    })
}

/** Serves until SIGTERM or SIGINT, then waits until running calls have ended. */
async function serve(options: ServeOptions, io: CliIo, deps: CliDeps): Promise<void> {
  const settings = readSettings(options, deps, flagsOf(options))
  deps.makeFilesPrivate()
  const isHub = settings.config.role === 'hub'
  deps.keepHeapSmall(isHub)
  const log = deps.createLog(levelOf(settings, options, io))
  const layout = layoutOf(settings.dataDir, settings.config.encryption.keyFile)
  if (isHub && options.demo === true) throw usageError('--demo is for gateways, found the role hub')
  makeDirectories(layout)
  // before the lock file is made, which shows that a gateway ran here; a hub has no databases of its own
  if (!isHub) {
    refuseLoss(layout.stateDb, 'state.db', true)
    refuseLoss(layout.dataDb, 'data.db')
  }
  // before anything is opened: two gateways in one directory would remove each other's temporary files
  const lock = lockDirectory(layout.lockDb)
  try {
    // what is printed without a terminal ends in a journal or a log file, where a secret would stay
    const prepared = isHub
      ? PREPARED_BEFORE
      : await prepareDataDir(layout, { keepsSecret: io.stdout.isTTY !== true })
    const stopAsked = waitForStop(deps, log)
    if (options.demo === true) await (await import('./demo.js')).prepareDemo(layout, deps.version)
    const gateway = await startGateway(settings, layout, log, deps)
    const manager = createNotifier(deps.env, log)
    const stopWatchdog = manager.startWatchdog(gateway.isAlive)
    await manager.ready(`serving ${gateway.url}`)
    const parts = { options, where: { env: deps.env, cwd: deps.cwd }, layout, log, config: settings.config }
    await printReady(gateway, prepared, parts, io)
    const stopReloads = deps.onSignal(
      'SIGHUP',
      oneAtATime(() => reload(gateway, manager, options, log, deps), RELOAD_PAUSE_MS),
    )
    log.info({ signal: await stopAsked }, 'stopping')
    stopReloads()
    await Promise.all([manager.stopping(), gateway.stop()])
    stopWatchdog()
  } finally {
    lock.release()
  }
}

/** Level of the log: who tries the demo on a terminal reads the page that it prints, not events. */
function levelOf({ config }: RunSettings, { demo, json }: ServeOptions, io: CliIo): LogLevel {
  const isPage = demo === true && json !== true && io.stdout.isTTY === true
  return isPage && config.log.level === 'info' ? 'warn' : config.log.level
}

async function startGateway(
  settings: RunSettings,
  layout: DataLayout,
  log: Log,
  deps: CliDeps,
): Promise<Gateway> {
  const { config } = settings
  try {
    return await createGateway({
      config,
      dataDir: layout.root,
      log,
      workerEntry: deps.entryFile,
      version: deps.version,
      configFile: settings.file,
      join: readJoin(deps.env.FIELDGATE_JOIN, config.sync.allowInsecure),
    })
  } catch (error) {
    throw new Error(advice(error, config.server.host, config.server.port), { cause: error })
  }
}

/**
 * Reads the hub that a gateway joins at its first start: `https://host#TOKEN`.
 *
 * @throws Error for another form
 */
function readJoin(text: string | undefined, allowInsecure: readonly string[]): HubRequest | undefined {
  if (text === undefined || text === '') return undefined
  const [url = '', token] = text.split('#')
  if (token === undefined || token === '')
    throw new Error('FIELDGATE_JOIN: found no token, expected the URL of the hub, # and a token')
  return { hubUrl: baseUrlOf(url, allowInsecure), token, name: os.hostname().slice(0, 80) }
}

/** Text of an error of the socket, with what to do. */
function advice(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is in use: choose another --port, or 0 for a free one`
  const isSocket = error instanceof Error && 'syscall' in error && error.syscall === 'listen'
  if (code === 'EACCES' && isSocket)
    return `this user has no permission to listen on port ${port}: choose a --port above 1023`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is not an address of this machine: choose another --host`
  return messageOf(error)
}

/**
 * Prints the address once the gateway answers. With `--json` it is exactly one line, which scripts wait for.
 * The secret of a first start is printed to a terminal only, and so is the link that signs in.
 */
async function printReady(
  gateway: Gateway,
  prepared: Prepared,
  { options, layout, log, config, where }: ReadyParts,
  io: CliIo,
): Promise<void> {
  const { apiKey, secret } = prepared
  const isTerminal = io.stdout.isTTY === true
  const secretFile = secret === null || isTerminal ? null : layout.firstKeyFile
  if (secretFile !== null)
    log.warn({ audit: true, act: 'first-key', apiKey, secretFile }, firstKeyText(secretFile))
  if (options.json === true) {
    const shown = isTerminal ? { apiKey, secret } : { apiKey, secretFile }
    printJson(io, { event: 'ready', url: gateway.url, ...(secret === null ? {} : shown) })
    return
  }
  const isDemo = options.demo === true
  const demo = isDemo ? await import('./demo-lines.js') : undefined
  const sample = await demo?.writeSample(gateway.url, layout, config, prepared)
  if (isTerminal) {
    const code = apiKey === null ? undefined : gateway.offerSignIn?.(apiKey)
    const link = code === undefined ? null : `${gateway.url}/console/#sign-in=${code}`
    io.stdout.write(terminalPage({ url: gateway.url, link, apiKey, secret, sample, ...where }))
    return
  }
  if (secretFile !== null) io.stdout.write(`First start: ${firstKeyText(secretFile)}\n`)
  io.stdout.write(
    `Fieldgate serves ${gateway.url} (press Ctrl-C to stop)\nConsole: ${gateway.url}/console/\n`,
  )
  if (demo !== undefined && existsSync(layout.firstKeyFile))
    io.stdout.write(`Try:\n${demo.demoLines(gateway.url, config, `-H @'${layout.firstKeyFile}'`)}`)
}

/** Parts of the start that what is printed depends on. */
interface ReadyParts {
  readonly options: ServeOptions
  readonly where: Pick<CliDeps, 'env' | 'cwd'>
  readonly layout: DataLayout
  readonly log: Log
  readonly config: RunSettings['config']
}

function firstKeyText(file: string): string {
  return `the admin key and its secret are in ${file}, which this user alone can read: copy them, then delete the file`
}

/**
 * Resolves with the first signal, also when it comes during the start. The second one ends the process at
 * once.
 */
function waitForStop(deps: CliDeps, log: Log): Promise<string> {
  return new Promise((resolve) => {
    const stops: (() => void)[] = []
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      stops.push(
        deps.onSignal(signal, () => {
          for (const stop of stops) stop()
          log.debug({ signal }, 'signal')
          resolve(signal)
        }),
      )
    }
  })
}

/**
 * Reads the settings again, and notifies the service manager before and after. Faulty settings change
 * nothing.
 */
async function reload(
  gateway: Gateway,
  manager: Notifier,
  options: ServeOptions,
  log: Log,
  deps: CliDeps,
): Promise<void> {
  await manager.reloading()
  await applySettings(gateway, options, log, deps)
  await manager.ready(`serving ${gateway.url}`)
}

async function applySettings(
  gateway: Gateway,
  options: ServeOptions,
  log: Log,
  deps: CliDeps,
): Promise<void> {
  try {
    const settings = findSettings(options, deps, flagsOf(options))
    if ('faults' in settings) {
      log.error({ faults: settings.faults }, 'the settings have faults; the previous settings stay in use')
      return
    }
    const needRestart = await gateway.reload(settings.config)
    if (needRestart.length === 0) log.info({ audit: true, act: 'reload' }, 'reloaded')
    else
      log.warn(
        { audit: true, act: 'reload', needRestart },
        'reloaded; changes of these settings take effect at the next start',
      )
  } catch (error) {
    log.error({ err: error }, 'reload failed; the previous settings stay in use')
  }
}

/** Settings from the flags. */
function flagsOf({ host, port }: ServeOptions): { server: { host?: string; port?: number } } {
  return { server: { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) } }
}

function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('Expected 0 to 65535.')
  return port
}
