"""What stands below the options in the help of each command."""

OVERVIEW = """\
examples:
  taut train train.txt -o chunker.taut --template chunking    columns: word POS tag
  taut tag -m chunker.taut test.txt > tagged.txt              appends the predicted column
  taut eval -m chunker.taut test.txt                          accuracy, precision, recall, F1
  taut inspect chunker.taut                                   certificate, strongest features
  cat file | taut tag -m chunker.taut -

exit codes: 0 done; 1 the input is wrong; 2 wrong usage; 130 interrupted, 143 terminated
(train saves the best model so far first). TAUT_TRACEBACK=1 shows where in the code an error arose.
"""
TRAIN = """\
examples:
  taut train train.txt -o chunker.taut                        words, POS and tags in columns
  taut train train.txt -o m.taut --template "w[-1..1]; suffix(w[0], 1..3)"
  taut train train.txt -o m.taut --dev dev.txt --scheme IOB2  stop when dev gets no better
  taut train train.txt -o m.taut --crf                        a model with probabilities
  taut train 'corpus/*.conllu' -o m.taut --label upos         many files
  taut train train.txt --cv 5 --template chunking             mean and spread of F1, no model
  taut train train.crfsuite -o m.taut --format attributes     CRFsuite's files
  taut train big.txt.gz -o m.taut --checkpoint run.npz        and later the same with --resume

Ctrl-C (exit code 130) and SIGTERM (143) end training and save the best model so far.
"""
TAG = """\
examples:
  taut tag -m chunker.taut test.txt > tagged.txt
  cat test.txt | taut tag -m chunker.taut                     each sentence as soon as it has come
  taut tag -m m.taut test.txt --forced-column 2               keep labels that are known ("_": none)
  taut tag -m crf.taut test.txt --probabilities               of each label, in one more column
  taut tag -m crf.taut test.txt --nbest 5                     the most probable labellings
  taut tag -m m.taut 'corpus/*.txt' > tagged.txt              file after file

Columns are echoed with the predicted label at the end; of attribute files only labels are written;
JSON lines are written with their "labels" replaced. Labels in the input are not looked at.
--nbest N appends N pairs of columns: the label in a labelling, and the probability of that
labelling, which is the same in all lines of a sentence.
"""
EVAL = """\
examples:
  taut eval -m chunker.taut test.txt
  taut eval -m chunker.taut test.txt --strict IOB2 --json
  taut eval -m chunker.taut test.txt --plot confusion.png
  taut eval -m chunker.taut 'test/*.txt'                      all files together

Spans are read as the CoNLL evaluation script does, or strictly by a scheme. Labels that are not of
a tagging scheme are counted by token and sequence only. Of a model trained with --crf the mean
log-likelihood of the true labels is told as well.
"""
INSPECT = """\
examples:
  taut inspect chunker.taut
  taut inspect chunker.taut --label B-NP --top 30
  taut inspect chunker.taut --weights - | sort -t "$(printf '\\t')" -k 4 -g | tail
  taut inspect chunker.taut --json | jq .certificate.relative_gap
"""
CONVERT = """\
examples:
  taut convert model.crfsuite -o model.taut
  taut convert model.crfsuite -o model.taut && taut tag -m model.taut test.crfsuite
  crf_learn -t template train.txt model && taut convert model.txt -o model.taut
"""
WARMUP = """\
Compiles ahead what the other commands need, which they otherwise do when first run. To be run once
after installing, for instance when a container is built; TAUT_CACHE_DIR says where it is kept.
"""
