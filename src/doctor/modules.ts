import { existsSync } from 'node:fs'
import { createModuleCatalog, type ListedModule, type ModuleCatalog } from '../dataproc/catalog.js'
import { readIsolation } from '../dataproc/isolation-record.js'
import { isolationFile } from '../dataproc/layout.js'
import { messageOf } from '../errors.js'
import { type CheckContext, error, type Finding, ok, warning } from './finding.js'

/** Checks the definitions of the installed modules, the scripts they name, and the isolation of runs. */
export async function checkModules({ layout, config }: CheckContext): Promise<Finding[]> {
  const { backend, modulesDir = layout.modulesDir } = config.dataproc
  if (backend !== 'embedded') return [ok('dataproc requests are forwarded to the configured backend')]
  if (!existsSync(modulesDir)) return [ok('there is no folder of modules')]
  // the catalog is used for definitions only, so the folders of runs are never opened
  const catalog = createModuleCatalog({
    modulesDir,
    runsDir: '',
    sessionsDir: '',
    applicationsDir: '',
    logsDir: '',
  })
  const modules = await catalog.list()
  if (modules.length === 0) return [ok('no module is installed')]
  const findings: Finding[] = [checkIsolation(layout.dataprocDir, config.dataproc)]
  for (const module of modules) findings.push(await checkModule(module, catalog, modulesDir))
  return findings
}

async function checkModule(module: ListedModule, catalog: ModuleCatalog, dir: string): Promise<Finding> {
  const { name, folder = name, scripts, faults = [] } = module
  const [fault] = faults
  const advice = `fix it in ${dir}/${folder}, or remove that folder`
  if (fault !== undefined)
    return error(`the module ${name} cannot be run: ${fault.path} ${fault.message}`, advice)
  try {
    for (const script of Object.values(scripts)) await catalog.scriptFile(folder, script)
    return ok(`${name}: ${Object.keys(scripts).length} scripts`)
  } catch (thrown) {
    return error(`the module ${name} cannot be run: ${messageOf(thrown)}`, advice)
  }
}

const ISOLATION_ADVICE =
  'under systemd add /usr/share/fieldgate/modules.conf to the unit, elsewhere allow this user to create user namespaces; or install only modules that you trust, and set dataproc.isolation to none'

/**
 * Reports the isolation that the gateway recorded at its start. It is not probed here: `doctor` runs outside
 * the gateway's systemd unit, where other restrictions apply.
 */
function checkIsolation(
  dataprocDir: string,
  { isolation: mode, network }: { isolation: string; network: string },
): Finding {
  if (mode === 'none') return ok('runs are not isolated (dataproc.isolation is none)')
  const found = readIsolation(isolationFile(dataprocDir))
  if (found === undefined || found.mode !== mode)
    return ok('the isolation of runs is determined when the gateway starts with a module')
  if (found.kind === 'none')
    return warning(`the gateway cannot isolate runs: ${found.reason ?? 'not requested'}`, ISOLATION_ADVICE)
  const proc = found.hasOwnProc ? '' : '; command lines of other processes are visible in /proc'
  if (!found.hasOwnNetwork && network === 'none')
    return warning(
      `runs are isolated by namespaces, but use the network of the device${proc}`,
      'allow network namespaces (under systemd install the new /usr/share/fieldgate/modules.conf), or set dataproc.network to host',
    )
  const net = found.hasOwnNetwork ? ', without a network' : ', with the network of the device'
  return ok(`runs are isolated by namespaces: each sees its own files only${net}${proc}`)
}
