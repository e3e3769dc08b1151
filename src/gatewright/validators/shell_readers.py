"""Table of read-only shell programs for the mode `deny-list` of `sandbox`: the options of each that only read, with their values.

One entry is a program, or several that take the same options:

    names OPTIONS

An option that is in no entry is refused: what reads file names, patterns of names, settings or commands from elsewhere is left out, as is
what writes, runs or sets. `-abc` are letters, `-k:` letters that take a value (in the same word or the next), `-i?` letters with a value in
the same word or none; `width=` is a long option that takes a value, `color?` one that may have one behind `=`, `all` one that takes none;
`-name!` and `-name!=` are whole words behind one dash. `*` instead of options says that the program takes none with a dash. `name=-`
takes its names from the standard input, where a pipe lists them. Entries follow the manuals of GNU coreutils 9.5, grep 3.11, diffutils 3.10, procps-ng 4.0, util-linux 2.40,
binutils 2.42, iproute2 6.9, ripgrep 14, fd 10, jq 1.7 and csvkit 2.0; lists longer than one version's are those of BSD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["READERS", "Known"]

_TABLE = """
ls,dir,vdir,gls -aAbBcCdDfFgGhHiIklLmnNopqQrRsStTuUvwxXZ1%@eO -I:T:w: all almost-all author escape block-size= ignore-backups color?
    classify? directory dired file-type format= full-time group-directories-first no-group human-readable si dereference
    dereference-command-line dereference-command-line-symlink-to-dir hide= hyperlink? indicator-style= inode ignore= kibibytes
    numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style=
    tabsize= width= context zero
cat,gcat -AbeEnstTuv show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting
tac -br -s: before regex separator=
head -qvz -c:n: bytes= lines= quiet silent verbose zero-terminated
tail -qvzr -c:n: bytes= lines= quiet silent verbose zero-terminated -fF -s: follow? retry pid= sleep-interval= max-unchanged-stats=
wc,gwc -clmLw bytes chars lines max-line-length words total= files0-from=-
nl -p -b:d:f:h:i:l:n:s:v:w: body-numbering= header-numbering= footer-numbering= line-increment= join-blank-lines= number-format= no-renumber
    number-separator= starting-line-number= number-width= section-delimiter=
od -abcdfhilosxvBDeFHILOX -A:j:N:t:w?S: address-radix= endian= skip-bytes= read-bytes= strings? format= output-duplicates width? traditional
hexdump,hd -bcCdoxvX -n:s:L? one-byte-octal canonical one-byte-char one-byte-hex two-bytes-decimal two-bytes-octal two-bytes-hex
    length= skip= no-squeezing color?
base32,basenc,md5,b3sum -dipqrtx -w: decode ignore-garbage wrap= base64 base64url base32 base32hex base16 base2msbf base2lsbf z85 num-threads= no-names
cksum,sum -rsz -a:l: algorithm= length= raw tag untagged zero sysv base64 debug
md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,sha3sum,b2sum,shasum -btzcwUpq -l:a: binary text tag zero length= check ignore-missing
    quiet status strict warn algorithm= UNIVERSAL
basename,dirname,gbasename -az -s: multiple suffix= zero
realpath,readlink -eEfmLPsqzvn canonicalize canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base=
    strip no-symlinks zero no-newline silent verbose
pathchk -pP portability
pwd -LP logical physical
pushd,popd,dirs -nlpv
pdfinfo -f:l: -box! -meta! -js! -struct! -struct-text! -isodates! -rawdates! -dests! -url! -enc!= -listenc! -v! -h!
cd,clear,true,false,tty,hostid,logname,arch,nproc,groups,users,whoami,sw_vers,getenforce,runlevel,rev,colrm,tabs,tsort,expr,sleep,factor,type
    -aPLtpfhV -T: all ignore= silent quiet
id -aAcCgGnruzZp context group groups name real user zero
uname -asnrvmpio all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system
uptime -prsV pretty raw since container
who,w,finger -abdHlmpqrstTuwfihVMosS all boot dead heading login lookup count process runlevel short time users mesg message writable no-header
    from old-style ip-addr ips
last,lastb -adFiRwx0123456789 -n:p:s:t: hostlastname dns fulltimes ip limit= nohostname present= since= system until= time-format= fullnames
df,gdf -aBhHiklmPtTvxYnIgc -B:t:x:T?: all block-size= human-readable inodes local no-sync output? portability print-type si total type= exclude-type=
du,gdu -0abcDhHklLmPSstxnrAI -B:d:t:I: null all apparent-size block-size= bytes total dereference-args max-depth= human-readable inodes
    count-links dereference no-dereference separate-dirs si summarize threshold= time? time-style= exclude= one-file-system files0-from=-
duf all json hide= only= hide-fs= only-fs= hide-mp= only-mp= sort= output= style= theme= width= warnings inodes
free -bkmghtvwlL -c: bytes kibi mebi gibi tebi kilo mega giga tera human si lohi total wide line committed count= -s: seconds=
stat -fLtxnqrslF -c: dereference file-system format= printf= terse cached=
cut -ns -b:c:d:f: bytes= characters= delimiter= fields= only-delimited output-delimiter= complement zero-terminated
paste -sz -d: delimiters= serial zero-terminated
join -iz -1:2:a:e:j:o:t:v: ignore-case check-order nocheck-order header zero-terminated
comm -123iz check-order nocheck-order output-delimiter= total zero-terminated
cmp -bls -i:n: print-bytes ignore-initial= verbose bytes= quiet silent
sort,gsort -bdfghiMnRrVcCmsuz -k:S:t: ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort
    human-numeric-sort numeric-sort random-sort reverse sort= version-sort check? merge key= buffer-size= stable field-separator= unique
    zero-terminated debug parallel= batch-size=
uniq,guniq -cdDiuz -f:s:w: count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated check-chars=
shuf -erz -i:n: echo input-range= head-count= repeat zero-terminated
tr,gtr -cCdstAu complement delete squeeze-repeats truncate-set1
col -bfhpx -l: lines=
column -txneLJd -s:N:o:c:H:O:R:T:W:E:C:r:p:i: table separator= output-separator= table-columns= table-noheadings table-right= table-truncate= table-wrap=
    table-hide= json table-name= table-column= table-order= fillrows keep-empty-lines output-width= tree= tree-id= tree-parent=
fmt,fold -cstubn -w:p:g: crown-margin tagged-paragraph split-only uniform-spacing width= prefix= goal= bytes spaces characters
expand,unexpand -ai -t: all first-only initial tabs=
pr -acdfFJmrtTv0123456789 -D:e?h:i?l:n?N:o:s?S?w:W: across columns= show-control-chars double-space date-format= form-feed header= join-lines
    length= merge number-lines? first-line-number= indent= no-file-warnings separator? sep-string? omit-header omit-pagination width= page-width=
seq -w -f:s:t: format= separator= equal-width
numfmt -z -d: debug delimiter= field= format= from= from-unit= grouping header? invalid= padding= round= suffix= to= to-unit= zero-terminated
cal,ncal -13yYjsSMmwNCopbhJe0 -n:A:B:H:d: one three sunday monday iso reform= julian year twelve week? color? columns= span months=
look -adf -t: alternative alphanum ignore-case terminate=
ul -i -t:
bc -ilqsw interactive mathlib quiet standard warn
grep,egrep,fgrep,ggrep -EFGPivwxcLlqsbHhnoZzaIrRUuTyVp0123456789 -A:B:C:D:d:e:f:m: extended-regexp fixed-strings basic-regexp perl-regexp regexp= file=
    ignore-case no-ignore-case invert-match word-regexp line-regexp count color? colour? files-with-matches files-without-match max-count=
    only-matching quiet silent no-messages byte-offset with-filename no-filename label= line-number initial-tab null after-context=
    before-context= context= text binary-files= devices= directories= exclude= exclude-dir= include= recursive dereference-recursive
    line-buffered binary null-data
zgrep,zegrep,zfgrep,bzgrep,lzgrep,xzgrep,zstdgrep -EFGPivwxcLlqsbHhnoaUyTz0123456789 -A:B:C:e:f:m: extended-regexp fixed-strings perl-regexp
    regexp= ignore-case invert-match word-regexp line-regexp count color? colour? files-with-matches files-without-match max-count= only-matching
    quiet silent no-messages with-filename no-filename line-number after-context= before-context= context= text
zcat,bzcat,xzcat,lzcat,zcmp,zstdcat -cdfklnqvT0123456789s force quiet verbose keep stdout
zdiff,diff,gdiff,colordiff -abBcdeEiNpqrsTtuwyZ0123456789lH -C:F:I:L:S:U:W:x: text ignore-space-change ignore-blank-lines brief context? ed
    ignore-tab-expansion color? horizon-lines= show-function-line= from-file= to-file= ignore-case ignore-file-name-case
    no-ignore-file-name-case ignore-matching-lines= initial-tab label= left-column line-format= minimal new-file normal rcs recursive
    no-dereference report-identical-files side-by-side show-c-function speed-large-files starting-file= strip-trailing-cr suppress-blank-empty
    suppress-common-lines tabsize= expand-tabs unidirectional-new-file unified? width= ignore-all-space ignore-trailing-space palette= exclude=
sdiff -abBdEHilstWZ -I:w: text ignore-space-change ignore-blank-lines ignore-case ignore-all-space ignore-trailing-space ignore-tab-expansion
    ignore-matching-lines= left-column suppress-common-lines minimal speed-large-files strip-trailing-cr expand-tabs tabsize= width=
diff3 -aAeEimTxX3 -L: text show-all ed show-overlap easy-only merge label= initial-tab strip-trailing-cr
rg -0acFhHiIlLnNopPqsSuUvVwxz. -A:B:C:E:T:d:e:f:g:j:m:M:r:t: after-context= auto-hybrid-regex before-context= binary block-buffered byte-offset
    case-sensitive color= colors= column no-column context= context-separator= no-context-separator count count-matches crlf debug
    dfa-size-limit= encoding= engine= field-context-separator= field-match-separator= file= files files-with-matches files-without-match
    fixed-strings follow glob= glob-case-insensitive heading no-heading help hidden no-hidden iglob= ignore-case ignore-file-case-insensitive
    include-zero invert-match json line-buffered line-number no-line-number line-regexp max-columns= max-columns-preview max-count=
    max-depth= max-filesize= mmap no-mmap multiline multiline-dotall no-config no-ignore no-ignore-dot no-ignore-exclude no-ignore-files
    no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs no-messages no-filename no-pcre2-unicode no-require-git null null-data
    one-file-system only-matching passthru passthrough path-separator= pcre2 pretty quiet regex-size-limit= regexp= replace= search-zip
    smart-case sort= sortr= stats text threads= trim type= type-add= type-clear= type-list type-not= unrestricted vimgrep with-filename
    word-regexp stop-on-nonmatch
ag -0acfFhHiIlLnNqQrRsStuUvwzV -A?B?C?G:g:m: after? before? ack nobreak color nocolor column count filename nofilename group nogroup heading
    noheading files-with-matches files-without-matches only-matching print-long-lines passthrough silent stats vimgrep null all-types depth=
    follow file-search-regex= hidden ignore-case ignore= ignore-dir= literal max-count= one-device fixed-strings smart-case case-sensitive
    search-binary all-text unrestricted invert-match word-regexp search-zip nonumbers numbers
ack -1cfgHhiIlLnoQrRsSvwxk -A:B:C:m: after-context= before-context= context? count color colour nocolor column nocolumn break nobreak files-with-matches
    files-without-matches group nogroup heading noheading ignore-case no-ignore-case smart-case ignore-dir= type= known-types literal
    max-count= match= no-filename with-filename sort-files invert-match word-regexp help-types no-recurse recurse follow flush
fd,fdfind -HIsiagFlLpq10uh -t:e:E:d:S:o:c:j: hidden no-ignore no-ignore-vcs no-ignore-parent case-sensitive ignore-case glob regex fixed-strings
    absolute-path follow full-path type= extension= exclude= max-depth= min-depth= exact-depth= size= changed-within= changed-before= owner=
    format= max-results= color= threads= print0 one-file-system prune strip-cwd-prefix? and= unrestricted quiet show-errors path-separator=
    relative-path newer= older= change-newer-than= change-older-than=
tree -aAcCdDfFghiJlnNpqrSsuUvxXtQ0123456789 -H:I:L:P:T: all ascii dirsfirst dirs-only du device filelimit= filesfirst full-path? gitignore group
    ignore-case inodes matchdirs metafirst noreport nolinks prune si sort? timefmt= charset= info hintro= houtro=
exa,eza,lsd -1aAlGTxFRdrhHmuUgibBstSXIfDnLoZ@wv -L:s:t:I:w: all oneline long grid tree across classify? recurse dereference color? colour? icons? level=
    reverse sort= group-directories-first group-dirs= git git-ignore only-dirs only-files header links inode blocksize group bytes binary time= modified
    accessed created changed time-style= extended no-permissions no-filesize no-user no-time octal-permissions ignore-glob= width= almost-all depth=
    total-size date= size= icon= permission= blocks= human-readable hyperlink? no-icons absolute? total-size
bat,batcat -APnpuf -l:H:r:m: show-all plain language= highlight-line= file-name= tabs= wrap= chop-long-lines terminal-width= number color=
    italic-text= decorations= force-colorization paging= map-syntax= theme= list-themes list-languages style= line-range= squeeze-blank
file -bchiIkLlnNprsSvzZ0Ed -F:e:P: brief checking-printout exclude= extension list mime mime-type mime-encoding keep-going dereference no-buffer no-pad
    preserve-date print0 raw special-files separator= no-dereference uncompress uncompress-noreport no-sandbox apple parameter=
strings -afdsu8 -e:n:t:T:s:U:0123456789 all data print-file-name bytes= radix= encoding= include-all-whitespace output-separator= target= unicode=
size -ABdotxGm -l:f: format= radix= totals common target=
nm -aABCDfglnoprsSuvVxXPj -f:t:e:U: debug-syms print-file-name demangle? no-demangle dynamic defined-only extern-only no-sort numeric-sort
    portability print-armap print-size quiet reverse-sort size-sort special-syms synthetic undefined-only format= radix= target= line-numbers
objdump -aCdDefFghilprsStTvwWxzG -b:j:m:M:E:W?P: archive-headers file-headers private-headers headers section-headers all-headers
    disassemble? disassemble-all full-contents source dwarf? syms dynamic-syms reloc dynamic-reloc architecture= demangle? section=
    line-numbers show-raw-insn no-show-raw-insn start-address= stop-address= wide target= disassembler-options= no-addresses file-offsets
readelf -aAcdeghilnprsStuVWzDIL -p:R:w?x:j:U: all file-header program-headers segments section-headers sections section-groups section-details headers
    syms symbols dyn-syms lto-syms notes relocs unwind dynamic version-info arch-specific archive-index use-dynamic hex-dump=
    string-dump= relocated-dump= decompress debug-dump? histogram wide demangle?
lsattr,getfattr,getfacl -adlRpvcehntsLP0 -e:m:n: absolute-names access all-effective default dump encoding= match= name= no-dereference numeric
    omit-header only-values physical logical recursive skip-base tabular
getcap,getconf -anrv -v: recursive
lsblk,lscpu,lsipc,lslocks,lslogins,lsmem,lsmod,lsns,lsirq -aAbcdDefghiJklLmMnNoOpPqrsStTuVyzwxGQ -C:e:I:o:E:x:w:u:g: all ascii bytes extended?
    parse? online offline json hex? physical caches? output-all output= raw fs inverse list merge nodeps noheadings path paths perms pairs scsi sort=
    topology tree? discard zoned size sector-size tcp nvme virtio include= exclude= dedup= width= summary? numeric-perms creator limits
    shmems queues semaphores global time time-format= newline export acc-expiration failed groups logins= system-accs user-accs user= type=
    persistent no-wrap shell bytes
lspci,lsusb,lshw -bDkmnPqtvVxs -d:s: tree verbose short businfo json xml html quiet numeric sanitize enable= disable=
    -C!= -class!= -short! -businfo! -json! -xml! -html! -sanitize! -numeric!
lsb_release -aicdrsvu id description release codename all short version upstream
findmnt -aAbcCDefghiIJklmMnNoOpPrRstTuUvyVxX -M:N:o:O:S:t:T:d: all ascii bytes canonicalize nocanonicalize df direction= evaluate fstab first-only
    inverse invert json list mtab mountpoint= noheadings notruncate options= output= output-all pairs raw kernel real submounts shadowed source=
    target=  type= types= tree uniq nofsroot kernel? pseudo verify verbose deleted
iostat,mpstat,vmstat,nstat,sar,pidstat -AaBbcdDefFhHIkmnNpPqQrRsStuUvVwWxXyzlno -P:o:p:g:H:G:C:T:U:i:j:x:S: active slabs stats disk disk-sum partition= unit=
    wide timestamp one-header forks human pretty dec= json= ignore zeros noupdate
journalctl -aehkqrxlNWm -b?D:F:g:n:o:p:S:t:T:u:U:c: all boot? catalog no-full full dmesg no-hostname no-pager no-tail output= output-fields= pager-end
    priority= facility= quiet reverse since= until= system user user-unit= unit= identifier= grep= case-sensitive? lines? list-boots
    disk-usage header merge utc fields field= after-cursor= show-cursor cursor= truncate-newline verify list-catalog namespace= -f follow
dmesg -edHkLPprStTux -f:l:s: ctime color? decode facility= human kernel level= nopager notime raw reltime show-delta time-format= userspace
    force-prefix json syslog since= until= noescape -wW follow follow-new
lastlog -hb -b:t:u: before= time= user= help
ps -AadefFlHjcLMNTVwxyZmvXSr -C:G:g:o:O:p:q:s:t:u:U:k:n: forest no-headers headers sort= format= user= User= pid= ppid= tty= group= Group= sid= quick-pid= cols=
    columns= rows= lines= width= deselect cumulative info context
pgrep,pidof -acfilLnovwxAqSz -d:g:G:P:s:t:u:U:O:r: delimiter= list-name list-full count ignore-case older= parent= pgroup= group= newest oldest
    inverse lightweight uid= euid= exact terminal= runstates= full session=  single-shot
pstree,pwdx -aAcghGlnNpsStTuUZ -H:C:n: arguments ascii compact-not hide-threads highlight-all highlight-pid= long ns-changes= numeric-sort
    show-pids show-pgids show-parents thread-names uid-changes unicode ascii vt100 security-context color=
pmap -xXdqpQ -A: extended device quiet show-path range=
lsof -ablnNOPRtUvVwCHKhX -c:d:F?g?i?p:s?u:o?T?S? -r?
ss -abeHilmnoOpPrstuwxzZT460BM -f:A: numeric resolve all listening options extended memory processes info threads bpf summary tos cgroup
    family= query= context contexts ipv4 ipv6 packet tcp udp dccp raw unix vsock sctp oneline no-header
netstat -abdeFgilMnNopPrsStTuUvwWxCLRf -A:f:I:p: route interfaces groups statistics masquerade all listening program programs numeric
    numeric-hosts numeric-ports numeric-users extend timers verbose wide symbolic tcp udp udplite sctp raw unix fib cache protocol= -c continuous
arp -anve numeric verbose all
route -nve46 numeric verbose extend
ifconfig -asv
host -aAcCdilNrRsTwvV46 -t:W:m:
nslookup -type!= -query!= -querytype!= -q!= -port!= -vc! -novc! -debug! -nodebug! -timeout!= -retry!= -class!= -norecurse! -recurse! -all!
dig -46ruvmi -t:c:q:p:b:x:
getent -A -i -s: service= no-idn no-addrconfig
ping,ping6 -46aAbBCdDfhLnOqrRUvV -c:e:F:i:I:l:m:M:N:Q:s:S:t:T:w:W:
traceroute,tracepath,mtr -46bdFnrTUImAVe -f:g:i:m:N:p:q:s:t:w:z:l: icmp tcp udp
whois -HaAbcdgilLmMQrRSV
locate,plocate -AbceEiLlNpPqSswr0H -l:n:r: all basename count existing ignore-case limit= null literal regexp= regex wholename nofollow statistics quiet
whatis,apropos,whereis,which,tput,toe -abBcdeflmMnopPrsuvwg -s:m:L:T:B:M:S: all read-alias skip-dot skip-tilde show-dot show-tilde tty-only exact wildcard and long sections=
    section= systems= locale= regex wildcard
man -afkiIKwWD -s:S:L:m:M:e:R: all apropos whatis where where-cat path sections= locale= ignore-case match-case regex wildcard names-only
    global-apropos encoding= debug no-subpages
locale -ackmv -a all-locales charmaps category-name keyword-name verbose
modinfo -0akFndlp -F:k: author description license parameters filename null field=
printenv -0 null
uuidgen -rtmsx -n:N: random time md5 sha1 namespace= name= namespace hex
tokei -fCc -e:s:t: files hidden no-ignore sort= type= types= exclude= languages compact
envsubst -v variables
jq -acCjnrRsSMeh compact-output raw-output raw-output0 join-output ascii-output sort-keys color-output monochrome-output tab indent= null-input
    raw-input slurp exit-status stream stream-errors seq unbuffered arg=2 argjson=2 args jsonargs slurpfile=2 rawfile=2
yq -CejMnNPrSy0 -I:o:p: prettyPrint colors no-colors exit-status input-format= output-format= indent= null-input no-doc unwrapScalar? raw-output
    sort-keys yaml-output arg=2 compact-output raw-input slurp
xmllint -noout! -format! -xpath!= -pretty!= -encode!= -c14n! -noblanks! -recover! -nsclean! -html! -xmlout! -nowarning! -quiet!
    noout format xpath= pretty= encode= c14n noblanks recover nsclean html xmlout nowarning quiet nonet huge sax stream valid dtdvalid= schema= relaxng=
hexyl -vpP -n:s:c:o:b:g: length= skip= bytes= block-size= no-squeezing color= border= plain no-characters no-position display-offset= panels= group-size=
yes *
csvcut,csvgrep,csvjoin,csvjson,csvlook,csvsort,csvstack,csvstat,in2csv,xsv -aivnlHSxVtuKrIypCk -d:q:e:c:f:s:g:m:K:L:p:z: names columns= not-columns= delete-empty-rows
    delimiter= tabs quotechar= quoting= no-doublequote escapechar= maxfieldsize= encoding= locale= skipinitialspace blanks null-value=
    date-format= datetime-format= no-header-row skip-lines= linenumbers add-bom zero match= regex= invert-match any-match no-inference
    reverse ignore-case max-rows= max-columns= max-column-width= csv json type nulls non-nulls unique min max sum mean median stdev len
    freq freq-count= count format= sheet= names key= schema= groups= group-name= filenames left right outer indent= lat= lon= stream
dpkg-query -lsSLpWc -f: list show status search listfiles print-avail showformat= load-avail control-list  control-show=
sestatus -bv
zipinfo -12slmhtTzZuUCM
iconv -clsf -f:t: from-code= to-code= list silent
units -1cehimnpqrstv -d:o:u: compact digits= exponential output-format= minus terse one-line strict verbose round
base64 -di -w:b: decode ignore-garbage wrap= break=
git.log,git.diff,git.show,git.diff-tree,git.whatchanged,git.range-diff,git.rev-list,git.reflog,git.stash-list,git.stash-show
    -01234567890abBCDEFGhilLMmnpPqrRsStuUwWxzcegIvdX -n:S:G:l:U:L: patch no-patch raw patch-with-raw indent-heuristic minimal patience histogram anchored= diff-algorithm=
    stat? compact-summary numstat shortstat dirstat? cumulative summary name-only name-status submodule? color? no-color color-moved?
    color-moved-ws= word-diff? word-diff-regex= color-words? no-renames rename-empty check full-index binary abbrev? no-abbrev find-renames?
    find-copies? find-copies-harder break-rewrites? irreversible-delete diff-filter= pickaxe-all pickaxe-regex relative? no-relative text ignore-cr-at-eol
    ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= unified=
    function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= cached
    staged merge-base ours theirs base no-index max-count= skip= since= after= until= before= author= committer= grep= grep-reflog= all-match
    invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp merges no-merges min-parents= max-parents=
    no-min-parents no-max-parents first-parent exclude-first-parent-only not all branches? tags? remotes? glob= exclude= reflog single-worktree
    ignore-missing cherry-mark cherry-pick left-only right-only cherry walk-reflogs merge boundary simplify-by-decoration full-history
    dense sparse simplify-merges show-pulls ancestry-path? date-order author-date-order topo-order reverse no-walk? do-walk pretty? format=
    abbrev-commit no-abbrev-commit oneline encoding= expand-tabs? no-expand-tabs notes? no-notes show-notes date= relative-date parents children left-right
    graph no-graph show-linear-break? decorate? no-decorate decorate-refs= decorate-refs-exclude= clear-decorations source follow full-diff
    log-size use-mailmap no-use-mailmap mailmap no-mailmap count objects in-commit-order disk-usage? header timestamp diff-merges= no-diff-merges cc combined-all-paths
    remerge-diff root always no-commit-id creation-factor= left-right dual-color no-dual-color include-untracked only-untracked use-bitmap-index
    bisect rotate-to= skip-to= output-indicator-new= output-indicator-old= output-indicator-context= ws-error-highlight= ita-invisible-in-index
git.shortlog -nsecw? numbered summary email committer group= format= no-merges merges since= after= until= before= author= all first-parent max-count= date= grep=
git.blame,git.annotate -bltfenswpcM?C?hk -L: root show-stats score-debug show-name show-number show-email porcelain line-porcelain incremental reverse since= date= first-parent
    ignore-rev= abbrev= progress no-progress color-lines color-by-age minimal encoding=
git.status -sbvzMu? short branch show-stash porcelain? long verbose untracked-files? ignored? ignore-submodules? column? no-column ahead-behind
    no-ahead-behind renames no-renames find-renames?
git.ls-files -cdmoistkuvfz -x: cached deleted modified others ignored stage unmerged killed eol directory no-empty-directory exclude= exclude-standard
    full-name error-unmatch abbrev? debug recurse-submodules format= deduplicate sparse with-tree= resolve-undo
git.ls-tree -drtlz name-only name-status long full-name full-tree object-only abbrev? format=
git.rev-parse -q abbrev-ref? show-toplevel short? verify quiet symbolic symbolic-full-name git-dir git-path= absolute-git-dir git-common-dir
    is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository show-prefix show-cdup show-superproject-working-tree all branches?
    tags? remotes? glob= exclude= since= after= until= before= revs-only no-revs flags no-flags default= sq path-format= show-object-format? not
git.describe all tags contains abbrev= candidates= exact-match debug long match= exclude= always first-parent dirty? broken?
git.merge-base -a all octopus is-ancestor independent fork-point
git.count-objects -vH verbose human-readable
git.name-rev tags refs= exclude= all name-only no-undefined always undefined
git.show-ref -dsqh head heads branches tags dereference hash? verify abbrev? quiet exists
git.version build-options
git.cherry -v abbrev?
git.check-ignore -qvn quiet verbose non-matching no-index
git.check-attr -a all cached source=
git.show-branch -arg? all remotes current topo-order date-order sparse more= list merge-base independent no-name sha1-name topics color? no-color reflog?
git.for-each-ref -spt count= sort= format= color? shell perl python tcl points-at= merged? no-merged? contains? no-contains? ignore-case omit-empty exclude=
git.cat-file -tsep use-mailmap
git.grep -aiIrwvhHEGPFnlLzocpWq0123456789 -e:A:B:C:m:f: cached untracked no-index recurse-submodules text ignore-case max-depth= word-regexp invert-match
    full-name extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null
    only-matching count color? no-color break heading show-function function-context threads= and or not all-match quiet exclude-standard
    no-exclude-standard after-context= before-context= context= max-count= recursive no-recursive
git.branch -arvlqi list all remotes verbose show-current sort= format= contains? no-contains? merged? no-merged? points-at? color? no-color column?
    no-column abbrev? no-abbrev ignore-case omit-empty quiet
git.tag -lin? list sort= format= contains? no-contains? merged? no-merged? points-at? color? no-color column? no-column ignore-case omit-empty
git.worktree-list -vz porcelain verbose expire=
git.submodule-status -q cached recursive quiet
git.submodule-summary -n: cached files summary-limit=
hostname -aAdfiIsyv alias all-fqdns all-ip-addresses fqdn long domain ip-address short yp nis
dircolors -bcp sh bourne-shell csh c-shell print-database print-ls-colors
"""


class Known(NamedTuple):
    """The options of one program that only read: each with how many of the next words are its values, -1 for a value in its own word."""

    letters: Mapping[str, int]
    long: Mapping[str, int]
    """Without dashes."""
    words: Mapping[str, int]
    """Whole words behind one dash, without it."""
    from_input: frozenset[str] = frozenset()
    """Long options whose only value is the standard input."""


def _entries() -> Iterator[tuple[str, Known]]:
    for entry in _TABLE.strip().replace("\n    ", " ").split("\n"):
        names, *rest = entry.split()
        made = _read(rest)
        yield from ((name, made) for name in names.split(","))


def _read(words: list[str]) -> Known:
    tables: dict[str, dict[str, int]] = {"letter": {}, "long": {}, "word": {}}
    for word in words:
        if word != "*":
            for kind, name, values in _options_of(
                word.removesuffix("-") if word.endswith("=-") else word
            ):
                tables[kind][name] = values
    from_input = frozenset(one[:-2] for one in words if one.endswith("=-"))
    return Known(tables["letter"], tables["long"], tables["word"], from_input)


def _options_of(word: str) -> Iterator[tuple[str, str, int]]:
    """Kind, name and number of values of each option in one word of the table."""
    if "!" in word:
        name, _, value = word[1:].partition("!")
        yield "word", name, 1 if value else 0
    elif word[0] != "-":
        name, sign, values = word.rstrip("?").partition("=")
        optional = -1 if word[-1] == "?" else 0
        yield "long", name, int(values or 1) if sign else optional
    else:
        signs = iter(word[1:])
        letters = list(signs)
        for at, letter in enumerate(letters):
            behind = letters[at + 1] if at + 1 < len(letters) else ""
            if letter not in ":?":
                yield "letter", letter, {":": 1, "?": -1}.get(behind, 0)


READERS: Mapping[str, Known] = MappingProxyType(dict(_entries()))
"""Program → its options that only read."""
