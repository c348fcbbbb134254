// Texts of the errors of the program, as they stand in its sources: what callers, operators and the log may read.
//
//     node scripts/messages.mjs        prints them
//
// test/scripts/messages.test.ts compares them with test/golden/messages-in-the-sources.txt.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** Rooms whose texts are no errors of the program: the page in the browser has words of its own. */
const LEFT_OUT = /^src\/(?:console|clients)\//
/** Members and constants that hold the text of an error, or a part of it. */
const NAMES =
  /^(?:message|reason|found|expected|what|advice|hint|problem)$|(?:Message|Reason|Fault|Advice|Rule)$|_RULE$/
/** Functions that make or print errors. */
const MAKERS =
  /^(?:refuse|fail|fault|bad|invalid|wrong|broken|unexpected|tooMany|tooLarge|usage|die|warn|add)(?:[A-Z]\w*)?$|(?:Fault|Error)$/

/**
 * Lists the texts, one a line: the file, then the text with `{…}` for what differs.
 *
 * @returns {string[]} in the order of files and lines, each text of a file once
 */
export function messageTexts() {
  return sources().flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ESNext, true)
    const texts = new Set()
    visit(source, false, texts)
    return [...texts].map((text) => `${file}: ${text}`)
  })
}

function sources() {
  return readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.posix.join('src', name.replaceAll(path.sep, '/')))
    .filter((file) => !LEFT_OUT.test(file))
    .sort()
}

/** Collects the texts of a node. @param isMessage the node is part of an error */
function visit(node, isMessage, texts) {
  if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return
  const text = textOf(node)
  if (text !== undefined) {
    if ((isMessage && /\s/.test(text.trim())) || /\b(?:found|expected) /i.test(text)) texts.add(oneLine(text))
    if (!ts.isTemplateExpression(node)) return
  }
  node.forEachChild((child) => {
    visit(child, (isMessage && !startsAfresh(child)) || isMessageOf(node, child), texts)
  })
}

/** Text of a literal, with `{…}` for the expressions in it; undefined for other nodes. */
function textOf(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text
  if (!ts.isTemplateExpression(node)) return undefined
  return node.templateSpans.reduce(
    (text, { expression, literal }) => `${text}{${nameOf(expression)}}${literal.text}`,
    node.head.text,
  )
}

/** A few words for an expression within a text. */
function nameOf(expression) {
  const text = expression.getText().replaceAll(/\s+/g, ' ')
  return text.length > 40 ? '…' : text
}

/** A function within an error is not part of its text. */
function startsAfresh(node) {
  return ts.isFunctionLike(node)
}

/** True when a child of a node is the text of an error, or a part of it. */
function isMessageOf(node, child) {
  if (ts.isNewExpression(node)) return child !== node.expression && /Error$/.test(node.expression.getText())
  if (ts.isThrowStatement(node)) return true
  if (ts.isCallExpression(node)) {
    const name = ts.isPropertyAccessExpression(node.expression)
      ? node.expression.name.text
      : node.expression.getText()
    return child !== node.expression && MAKERS.test(name)
  }
  const isNamed = ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)
  return isNamed && child === node.initializer && NAMES.test(node.name.getText())
}

function oneLine(text) {
  return text.replaceAll('\n', '\\n').trim()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.info(messageTexts().join('\n'))
