// Rules for English in source code: the part of docs/style-guide.md that a program can check.
import { proseProblems } from './prose-rules.mjs';

/** Three words in a row. Shorter texts are names, keys and so on. */
const SENTENCE = /[a-z]+ [a-z'’]+ [a-z]+/iu;

/** Whether a text is the description of a setting or an option. */
function isDescription({ parent }) {
  return parent?.type === 'CallExpression' && parent.callee.type === 'MemberExpression' && parent.callee.property.name === 'describe';
}

const strings = {
  create(context) {
    const check = (node, text, options) => {
      if (!SENTENCE.test(text)) return;
      for (const { found, cure } of proseProblems(text, options))
        context.report({ node, message: `"${found.trim()}" isn't the English of docs/style-guide.md. ${cure}` });
    };
    return {
      Literal(node) {
        if (typeof node.value === 'string') check(node, node.value, { isDescription: isDescription(node) });
      },
      TemplateLiteral(node) {
        // A value can be any text. The ellipsis keeps the text after a value from looking like the start of a sentence.
        check(node, node.quasis.map(({ value }) => value.cooked ?? '').join('…'));
      },
    };
  },
};

const comments = {
  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const text = comment.value.replace(/^[*\s]+|^\s*\*/gmu, ' ').replace(/\s+/gu, ' ');
          for (const { found, cure } of proseProblems(text.trim()))
            context.report({ loc: comment.loc, message: `"${found.trim()}" isn't the English of docs/style-guide.md. ${cure}` });
        }
      },
    };
  },
};

// eslint-disable-next-line import/no-default-export -- as oxlint loads plugins
export default { meta: { name: 'prose' }, rules: { strings, comments } };
