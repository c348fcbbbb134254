import { existsSync } from 'node:fs'
import { createModuleCatalog, type ListedModule, type ModuleCatalog } from '../dataproc/catalog.js'
import { readIsolation } from '../dataproc/isolation-record.js'
import { isolationFile } from '../dataproc/layout.js'
import { messageOf } from '../errors.js'
import { error, type Finding, ok, type Patient, warning } from './finding.js'

/** Modules that `dataproc` could run: their definitions, and the programs that those name. */
export async function checkModules({ layout, config }: Patient): Promise<Finding[]> {
  const { backend, modulesDir = layout.modulesDir } = config.dataproc
  if (backend !== 'embedded') return [ok('dataproc requests go to the backend of the settings')]
  if (!existsSync(modulesDir)) return [ok('there is no folder of modules')]
  // runs are not looked at, so where they lie does not matter
  const elsewhere = { runsDir: '', sessionsDir: '', applicationsDir: '', logsDir: '' }
  const catalog = createModuleCatalog({ modulesDir, ...elsewhere })
  const modules = await catalog.list()
  if (modules.length === 0) return [ok('no module is installed')]
  const findings: Finding[] = [apart(layout.dataprocDir, config.dataproc.isolation)]
  for (const module of modules) findings.push(await lookAt(module, catalog, modulesDir))
  return findings
}

async function lookAt(module: ListedModule, catalog: ModuleCatalog, dir: string): Promise<Finding> {
  const { name, scripts, faults = [] } = module
  const [fault] = faults
  const advice = `mend it in ${dir}/${name}, or remove that folder`
  if (fault !== undefined)
    return error(`the module ${name} cannot be run: ${fault.path} ${fault.message}`, advice)
  try {
    for (const script of Object.values(scripts)) await catalog.scriptFile(name, script)
    return ok(`${name}: ${Object.keys(scripts).length} scripts`)
  } catch (thrown) {
    return error(`the module ${name} cannot be run: ${messageOf(thrown)}`, advice)
  }
}

const APART_ADVICE =
  'under systemd add /usr/share/fieldgate/modules.conf to the unit, elsewhere let this user make user namespaces; or install only modules that you trust, and set dataproc.isolation to none'

/** What the gateway found, and not what would be found here: `doctor` does not run within its unit. */
function apart(dataprocDir: string, mode: string): Finding {
  if (mode === 'none') return ok('runs are not kept apart, as dataproc.isolation says')
  const found = readIsolation(isolationFile(dataprocDir))
  if (found === undefined || found.mode !== mode)
    return ok('how runs are kept apart is found out when the gateway starts with a module')
  if (found.kind === 'none')
    return warning(`the gateway cannot keep runs apart: ${found.reason ?? 'not asked for'}`, APART_ADVICE)
  const proc = found.hasOwnProc ? '' : "; command lines of other processes show in the system's /proc"
  return ok(`namespaces keep runs apart: each sees its own files only${proc}`)
}
