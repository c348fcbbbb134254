// The man page fieldgate(8): the verbs as the program knows them, in roff.
import { loadFacts } from '../load-facts.mjs'

/** @param date ISO day of the page */
export async function manPage(version, date) {
  const { verbs } = await loadFacts()
  const lines = [
    `.TH FIELDGATE 8 "${date}" "fieldgate ${version}" "System Administration"`,
    '.SH NAME',
    'fieldgate \\- data gateway for small devices in the field',
    '.SH SYNOPSIS',
    '.B fieldgate',
    '[\\fB\\-\\-config\\fR \\fIfile\\fR] [\\fB\\-\\-data\\-dir\\fR \\fIdir\\fR] [\\fB\\-\\-json\\fR] \\fIverb\\fR [\\fIoption\\fR ...]',
    '.SH DESCRIPTION',
    'Serves tables of events, datasets that can be cited, models, risk maps and routes around the risk over',
    'JSON\\-RPC, from SQLite and one road graph. Every verb ends with 0 when all went well, with 1 when something',
    'failed and with 2 when it was called wrongly; a fault is one line on standard error.',
    '.PP',
    'Run by root, the command of the package acts as the user fieldgate, so that the data stay its own;',
    'only \\fBupdate\\fR stays with root.',
    '.SH OPTIONS OF EVERY VERB',
    ...option(
      '--config <file>',
      'settings file (default: FIELDGATE_CONFIG, else ./edge.config.json if there)',
    ),
    ...option('--data-dir <dir>', 'directory of everything the gateway keeps'),
    ...option('--json', 'facts as JSON on standard output'),
    '.SH VERBS',
    ...verbs.flatMap(verb),
    '.SH FILES',
    ...option(
      '/etc/fieldgate/edge.config.json',
      'settings of the service; "fieldgate config schema" describes them',
    ),
    ...option('/var/lib/fieldgate', 'everything the gateway keeps'),
    '.SH ENVIRONMENT',
    ...option('FIELDGATE_SECTION__NAME', 'sets section.name, over the settings file'),
    ...option('FIELDGATE_CONFIG', 'settings file'),
    ...option(
      'FIELDGATE_NATIVE_DIR',
      'directory that the SQLite addon may be unpacked to; it must allow programs',
    ),
    '.SH SEE ALSO',
    '.BR systemctl (1),',
    '.BR journalctl (1)',
  ]
  return `${lines.join('\n')}\n`
}

function verb({ usage, description, options }) {
  return [
    `.SS "${roff(`fieldgate ${usage}`)}"`,
    roff(description),
    ...options.flatMap((o) => option(o.flags, o.description)),
  ]
}

function option(flags, description) {
  return ['.TP', `.B "${roff(flags)}"`, roff(description)]
}

/** A hyphen would be a dash, a backslash a command, and so would a dot or a quote at the start of a line. */
function roff(text) {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('"', '\\(dq')
  return /^[.']/.test(plain) ? `\\&${plain}` : plain
}
